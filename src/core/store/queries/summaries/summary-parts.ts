import { keyOf, type Row } from '../../../model/resource.ts'
import { fundingPeriodDataPoints } from '../../../resources/funding-period-data-points/description.ts'
import { instruments } from '../../../resources/instruments/description.ts'
import { liquidityProviders } from '../../../resources/liquidity-providers/description.ts'
import { columnList, columnNames, POSTGRES_HINTS, pageStatement } from '../../pages/scan-sql.ts'
import type { Query } from '../../queries-protocol.ts'
import { type LatestData, readDataBetween } from '../market-data.ts'
import { type LatestPeriods, readLatestPeriods } from '../periods/latest-periods.ts'
import { READ_POINTS_SEQ } from '../periods/named-seqs.ts'

/** The last point of the external and the internal source, after the market's number. */
const READ_LAST_POINTS = ([1, 2] as const)
  .map(
    (source) => `select cast(market as text), ${columnList(fundingPeriodDataPoints)} from (
      select market, ${columnNames(fundingPeriodDataPoints)} from funding_period_data_points
      where market = $1 and source = ${source} order by timestamp desc, seq desc limit 1) as last_${source}`,
  )
  .join(' union all ')

const WITHIN = 'market_id >= $1 and market_id <= $2'

const READ_NUMBERS = `select market_id, cast(market as text) from markets where ${WITHIN}`

const COUNT_PROVIDERS = `
  select market_id, cast(count(*) as text) from liquidity_providers
  where ${WITHIN} and ${liquidityProviders.storage.condition} group by market_id`

/** Ids of markets, in the order of a page, between which there is no other market: one statement reads them all. */
export type AdjacentMarkets = [string, ...string[]]

/**
 * Groups the markets that must be read.
 *
 * @param ids in the order of a page, between any two of which there is no other market
 */
export function adjacentMarkets(
  ids: readonly string[],
  mustBeRead: (id: string) => boolean,
): AdjacentMarkets[] {
  const groups: AdjacentMarkets[] = []
  let isOpen = false
  for (const id of ids) {
    if (mustBeRead(id) && isOpen) groups.at(-1)!.push(id)
    else if (mustBeRead(id)) groups.push([id])
    isOpen = mustBeRead(id)
  }
  return groups
}

/** The rows of other resources that summaries combine; by the market's id, unless a name says by its number. */
export type SummaryParts = {
  numbers: ReadonlyMap<string, string>
  /** The numbers of providers. */
  providers: ReadonlyMap<string, string>
  marketData: ReadonlyMap<string, LatestData>
  instruments: ReadonlyMap<string, Row>
  periods: ReadonlyMap<string, LatestPeriods>
  /** The last point of each source, after the market's number. */
  lastPointsByNumber: ReadonlyMap<string, readonly Row[]>
  /** The seq of the last point. */
  lastSeqsByNumber: ReadonlyMap<string, string>
}

/** Reads everything but the averages, for all markets together. */
export function* readSummaryParts(groups: readonly AdjacentMarkets[]): Query<SummaryParts> {
  const ends = groups.map((group) => [group[0], group.at(-1)!].sort() as [string, string])
  const ids = groups.flat()

  const numbers = valueByMarket(yield { text: READ_NUMBERS, each: ends })
  const providers = valueByMarket(yield { text: COUNT_PROVIDERS, each: ends })
  const latestData = yield* readDataBetween(ends)
  const instrumentRows: Row[] = yield instrumentsStatement(ends, ids.length)
  const periods = yield* readLatestPeriods(ids)
  const eachNumber = [...numbers.values()].map((number): [bigint] => [BigInt(number)])
  const pointRows: Row[] = yield { text: READ_LAST_POINTS, each: eachNumber }
  const lastSeqsByNumber = valueByMarket(yield { text: READ_POINTS_SEQ, each: eachNumber })
  return {
    numbers,
    providers,
    marketData: new Map(latestData.map((data) => [data.marketId, data])),
    instruments: new Map(instrumentRows.map((row) => [String(keyOf(instruments, row)[0]), row])),
    periods,
    lastPointsByNumber: Map.groupBy(pointRows, ([number]) => String(number)),
    lastSeqsByNumber,
  }
}

/** The second column of rows, by the first one, which names the market. */
function valueByMarket(rows: readonly Row[]): Map<string, string> {
  return new Map(rows.map(([market, value]) => [String(market), String(value)]))
}

/** The statement that reads the instruments between each of these pairs of market ids, both included. */
function instrumentsStatement(ends: readonly [string, string][], limit: number) {
  const statements = ends.map(([low, high]) => {
    const scan = {
      resource: instruments,
      selection: {},
      market: null,
      descending: false,
      lower: { key: [low], inclusive: true },
      upper: { key: [high], inclusive: true },
    }
    return pageStatement(scan, limit, POSTGRES_HINTS)
  })
  return { text: statements[0]!.text, each: statements.map(({ values }) => values) }
}
