import type { FilterName } from '../../../model/filters.ts'
import { RESOURCES } from '../../../resources/resources.ts'
import type { Query } from '../../queries-protocol.ts'
import { FIND_MARKET, READ_MARKET_IDS } from '../../statements.ts'

export type IdKind = 'market' | 'asset' | 'party'

/** Columns that together contain every id that a request may name, each the first of an index. */
const ID_COLUMNS: Record<IdKind, readonly { name: string; table: string }[]> = {
  market: [{ name: 'market_id', table: 'markets' }],
  asset: columnsOf(['assetId']),
  party: columnsOf(['partyId', 'partyIds']),
}

/** The columns of filters of all resources. */
function columnsOf(names: readonly FilterName[]): { name: string; table: string }[] {
  return RESOURCES.flatMap(({ filters, storage: { table } }) =>
    filters
      .filter(({ name }) => names.includes(name))
      .flatMap(({ columns, through }) => columns.map((name) => ({ name, table: through?.name ?? table }))),
  )
}

/** Whether any stored row names a market. */
export function* isStoredMarket(marketId: string): Query<boolean> {
  const [row] = yield { text: FIND_MARKET, values: [marketId] }
  return row !== undefined
}

/** The numbers of all markets, ascending. */
export function* readMarketNumbers(): Query<bigint[]> {
  const rows = yield { text: READ_MARKET_IDS }
  return rows.map(([number]) => BigInt(number!))
}

/** The first ids that begin with `digits`, two at most: enough to know whether there is exactly one. */
export function* findIds(kind: IdKind, digits: string): Query<string[]> {
  const all = new Set<string>()
  for (const { name, table } of ID_COLUMNS[kind]) {
    const ofColumn: string[] = []
    while (ofColumn.length < 2) {
      const last = ofColumn.at(-1)
      const [row] = yield {
        text: `select ${name} from ${table} where ${name} ${last === undefined ? '>=' : '>'} $1 order by ${name} limit 1`,
        values: [last ?? digits],
      }
      const id = row?.[0]
      if (typeof id !== 'string' || !id.startsWith(digits)) break
      ofColumn.push(id)
      all.add(id)
    }
  }
  return [...all].sort().slice(0, 2)
}
