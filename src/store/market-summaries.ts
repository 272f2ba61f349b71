import { fundingPeriodDataPoints } from '../resources/funding-period-data-points.ts'
import { fundingPeriods } from '../resources/funding-periods.ts'
import { instruments } from '../resources/instruments.ts'
import { liquidityProviders } from '../resources/liquidity-providers.ts'
import { keyOf, type Resource, type Row } from '../resources/resource.ts'
import { READ_STATE } from './changes.ts'
import { nextId } from './find-ids.ts'
import { stateOf } from './freshness.ts'
import { estimateNode, latestPeriods, marketDataNode, READ_MARKET_DATA, READ_PERIODS } from './market-data.ts'
import type { Page, PageQuery } from './page.ts'
import { columnList, pageStatement, type Statement } from './page-statement.ts'

const namesOf = ({ storage }: Resource) => storage.columns.map(({ name }) => name).join(', ')

/** The last point of each of two sources. */
const READ_POINTS = ([1, 2] as const)
  .map(
    (source) => `select ${columnList(fundingPeriodDataPoints)} from (
      select ${namesOf(fundingPeriodDataPoints)} from funding_period_data_points
      where market = $1 and source = ${source} order by timestamp desc, seq desc limit 1) as last_${source}`,
  )
  .join(' union all ')

const SOURCE_COLUMN = fundingPeriodDataPoints.storage.columns.findIndex(({ name }) => name === 'source')

const WITHIN = 'market_id >= $1 and market_id <= $2'

const READ_NUMBERS = `select market_id, cast(market as text) from markets where ${WITHIN}`

const COUNT_PROVIDERS = `
  select market_id, cast(count(*) as text) from liquidity_providers
  where ${WITHIN} and ${liquidityProviders.storage.condition} group by market_id`

/**
 * The statements that gather a page of market summaries in one snapshot, one after another: each is yielded and wants
 * its rows. A market costs a few index look-ups.
 */
export function* readMarketSummaries(query: PageQuery): Generator<Statement, Page, Row[]> {
  const [found] = yield { text: READ_STATE, values: [] }
  const state = stateOf(found!)
  const none = { rows: [], edges: null, more: false, hasRowsAtOrBefore: false, ...state }
  const { position } = state
  if (position === null) return none
  const ids = yield* marketsOf(query)
  const shown = ids.slice(0, query.limit)
  const hasRowsAtOrBefore = yield* isAnyAtOrBefore(query)
  if (shown.length === 0) return { ...none, hasRowsAtOrBefore }
  const ofAll = yield* readOfAll(shown)
  const rows: Row[] = []
  for (const marketId of shown) {
    const instrument = ofAll.instruments.get(marketId) ?? null
    const data = ofAll.data.get(marketId)
    const { running, paid } = latestPeriods(yield { text: READ_PERIODS, values: [marketId] })
    const { external, internal } = yield* readPoints(marketId, ofAll.numbers.get(marketId))
    const periodNode = (row: Row | null) => (row === null ? null : fundingPeriods.node(row, { marketId }))
    rows.push([
      ...[marketId, instrument, periodNode(running), periodNode(paid)],
      ...[textOf(estimateNode(data, running)), external, internal],
      ...[textOf(data === undefined ? null : marketDataNode(data)), ofAll.providers.get(marketId) ?? '0'],
    ])
  }
  return { ...none, rows, more: ids.length > shown.length, hasRowsAtOrBefore }
}

/** The markets of a page in the direction of reading, and one more where more follow. */
function* marketsOf({
  selection: { marketId },
  descending,
  cursor,
  limit,
}: PageQuery): Generator<Statement, string[], Row[]> {
  if (marketId !== undefined) {
    // A cursor is of this market: nothing follows it.
    const [row] = cursor === null ? yield nextId('market', '=', marketId) : []
    return row?.[0] == null ? [] : [marketId]
  }
  const ids: string[] = []
  let place = cursor === null ? null : (cursor[0] as string)
  while (ids.length <= limit) {
    const [row] = yield nextId('market', descending ? '<' : '>', place)
    if (row?.[0] == null) break
    place = String(row[0])
    ids.push(place)
  }
  return ids
}

/** Whether a market stands at or before the cursor, in the direction of reading. */
function* isAnyAtOrBefore({
  selection: { marketId },
  descending,
  cursor,
}: PageQuery): Generator<Statement, boolean, Row[]> {
  if (cursor === null) return false
  const operator = marketId !== undefined ? '=' : descending ? '>=' : '<='
  const [row] = yield nextId('market', operator, cursor[0] as string)
  return row?.[0] != null
}

/** What is read of all markets of a page at once: they are all there are between the first and the last. */
function* readOfAll(ids: readonly string[]) {
  const [one, other] = [ids[0]!, ids.at(-1)!]
  const [low, high] = one < other ? [one, other] : [other, one]
  const scan = {
    resource: instruments,
    selection: {},
    market: null,
    lower: { key: [low], inclusive: true },
    upper: { key: [high], inclusive: true },
    descending: false,
  }
  const named: Row[] = yield pageStatement(scan, ids.length, 'lazy')
  const numbers: Row[] = yield { text: READ_NUMBERS, values: [low, high] }
  const providers: Row[] = yield { text: COUNT_PROVIDERS, values: [low, high] }
  const data: Row[] = yield { text: READ_MARKET_DATA, values: [low, high] }
  const byMarket = (rows: Row[]) =>
    new Map(rows.map(([marketId, value]) => [String(marketId), String(value)]))
  return {
    instruments: new Map(named.map((row) => [String(keyOf(instruments, row)[0]), instruments.node(row, {})])),
    numbers: byMarket(numbers),
    providers: byMarket(providers),
    data: new Map(data.map((row) => [String(row[0]), row])),
  }
}

const textOf = (node: object | null) => (node === null ? null : JSON.stringify(node))

function* readPoints(
  marketId: string,
  number: string | undefined,
): Generator<Statement, { external: string | null; internal: string | null }, Row[]> {
  const rows = number === undefined ? [] : yield { text: READ_POINTS, values: [BigInt(number)] }
  const nodeOf = (source: number) => {
    const row = rows.find((found) => found[SOURCE_COLUMN] === source)
    return row === undefined ? null : fundingPeriodDataPoints.node(row, { marketId })
  }
  return { external: nodeOf(1), internal: nodeOf(2) }
}
