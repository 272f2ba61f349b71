import { randomUUID } from 'node:crypto'
import { keyOf, type ResourceName, type Row } from '../../model/resource.ts'
import { fundingPeriodDataPoints } from '../../resources/funding-period-data-points/description.ts'
import { fundingPeriods } from '../../resources/funding-periods/description.ts'
import { instruments } from '../../resources/instruments/description.ts'
import { liquidityProviders } from '../../resources/liquidity-providers/description.ts'
import { marketSummaries } from '../../resources/market-summaries.ts'
import type { StoreVersion } from '../changes.ts'
import { EMPTY_PAGE, type Freshness, type Page, type PageQuery, type StoreHead } from '../pages/page.ts'
import { columnList, columnNames, POSTGRES_HINTS, pageStatement } from '../pages/scan-sql.ts'
import type { Query } from '../queries-protocol.ts'
import { readFreshness } from './freshness.ts'
import { READ_POINTS_SEQ, seqOfData } from './known-seqs.ts'
import {
  estimateNode,
  keyOfPeriod,
  type LatestPeriods,
  latestPeriods,
  marketDataNode,
  NO_PERIODS,
  READ_MARKET_DATA,
  READ_PERIODS,
  runningOf,
} from './market-data.ts'
import { readMarketPage } from './market-pages.ts'
import { NO_AVERAGES, type RateAverages, readRateAverages } from './rate-averages.ts'

/** The last point of the external and the internal source, after the market's number. */
const READ_LAST_POINTS = ([1, 2] as const)
  .map(
    (source) => `select cast(market as text), ${columnList(fundingPeriodDataPoints)} from (
      select market, ${columnNames(fundingPeriodDataPoints)} from funding_period_data_points
      where market = $1 and source = ${source} order by timestamp desc, seq desc limit 1) as last_${source}`,
  )
  .join(' union all ')

const SOURCE_COLUMN = 1 + fundingPeriodDataPoints.storage.columns.findIndex(({ name }) => name === 'source')

const WITHIN = 'market_id >= $1 and market_id <= $2'

const READ_NUMBERS = `select market_id, cast(market as text) from markets where ${WITHIN}`

const READ_LAST_GAP = 'select cast(to_height as text) from gaps order by gaps.from_height desc limit 1'

const COUNT_PROVIDERS = `
  select market_id, cast(count(*) as text) from liquidity_providers
  where ${WITHIN} and ${liquidityProviders.storage.condition} group by market_id`

/** The resources whose changes affect summaries. */
const SUMMARY_PARTS = new Set<ResourceName>(
  [fundingPeriodDataPoints, fundingPeriods, instruments, liquidityProviders, marketSummaries].map(
    ({ name }) => name,
  ),
)

/** Maximum number of cached rows, of about 2 kB each. */
const MAX_CACHED = 10_000

/** The fields of a market's summary: the JSON of other nodes, null if there is none, and the number of providers. */
type Summary = {
  instrument: string | null
  runningPeriod: string | null
  lastPaidPeriod: string | null
  estimate: string | null
  lastExternalPoint: string | null
  lastInternalPoint: string | null
  marketData: string | null
  averages: string
  providers: string
}

/** A market's summary as a row, and its averages, which stay valid for longer than the other parts. */
type ReadSummary = { row: Row; averages: RateAverages }

/** The summaries of markets as of a commit, and the averages in them, by market. */
type CachedSummaries = {
  version: StoreVersion
  /** The last missing block; null if none is. */
  lastGap: bigint | null
  rows: ReadonlyMap<string, Row>
  averages: ReadonlyMap<string, RateAverages>
}

/** Summaries that differ from those of the previous answer, and the name of this answer. */
export type ChangedSummaries = { rows: Row[]; name: string }

/** All summaries as of an answer of {@link MarketSummaries.changed}, by market. */
type AnsweredSummaries = { name: string | null; height: bigint; rows: ReadonlyMap<string, Row> }

/** Number of markets that one query lists, if all are listed. */
const MARKETS_AT_A_TIME = 1_000

/** Reads market summaries and caches them: only those of changed markets are read again. */
export class MarketSummaries {
  #cached: CachedSummaries | null = null
  #answered: AnsweredSummaries = { name: null, height: -1n, rows: new Map() };

  /** The page of one snapshot. */
  *read(query: PageQuery): Query<Page> {
    const cached = this.#cached
    const state = yield* readFreshness(cached?.version ?? null)
    const { storeHead, version } = state
    const none = { ...EMPTY_PAGE, storeHead, version }
    if (storeHead === null) return none
    const { ids, more, hasRowsAtOrBefore } = yield* readMarketPage(query)
    const rows = yield* this.#refreshed(cached, state, storeHead, ids)
    return { ...none, rows: ids.map((marketId) => rows.get(marketId)!), more, hasRowsAtOrBefore }
  }

  /**
   * The summaries of all markets that differ from those of the last answer; null while the store has no block, or a replica
   * lags behind that answer.
   *
   * @param known the name of the last answer that the caller received; all summaries follow if it is another one than the
   * last one given
   */
  *changed(known: string | null): Query<ChangedSummaries | null> {
    const cached = this.#cached
    const state = yield* readFreshness(cached?.version ?? null)
    const { storeHead } = state
    if (storeHead === null || BigInt(storeHead.height) < this.#answered.height) return null
    const ids = yield* readAllMarkets()
    const rows = yield* this.#refreshed(cached, state, storeHead, ids)
    const before = known === this.#answered.name ? this.#answered.rows : new Map<string, Row>()
    const changed = ids
      .map((id) => rows.get(id)!)
      .filter((row) => !isSameRow(before.get(String(row[0])), row))
    // A query may run again after its answer was lost: a new name for each answer tells the two apart.
    const name = randomUUID()
    this.#answered = { name, height: BigInt(storeHead.height), rows }
    return { rows: changed, name }
  }

  /**
   * The rows of at least these markets: cached ones if they have not changed, others from the store.
   *
   * @param cached the cache when the caller's query began; `state` has the changes since its version
   */
  *#refreshed(
    cached: CachedSummaries | null,
    state: Freshness,
    storeHead: StoreHead,
    ids: readonly string[],
  ): Query<ReadonlyMap<string, Row>> {
    const [gap] = yield { text: READ_LAST_GAP }
    const lastGap = gap === undefined ? null : BigInt(gap[0]!)
    const at = BigInt(storeHead.timestamp)
    const { rows, averages } = unchangedParts(cached, state, lastGap, at)
    const markets = adjacentMarkets(ids, (id) => !rows.has(id))
    if (markets.length > 0) {
      for (const [id, summary] of yield* readSummaries(markets, averages, lastGap, at)) {
        rows.set(id, summary.row)
        averages.set(id, summary.averages)
      }
    }
    // A query of an older snapshot may end after one of a newer one.
    if (this.#cached === cached && rows.size <= MAX_CACHED) {
      this.#cached = { version: state.version, lastGap, rows, averages }
    }
    return rows
  }
}

function isSameRow(one: Row | undefined, other: Row): boolean {
  return one?.every((value, at) => value === other[at]) ?? false
}

/** The ids of all markets that any row names, ascending. */
function* readAllMarkets(): Query<string[]> {
  const ids: string[] = []
  for (let more = true; more; ) {
    const last = ids.at(-1)
    const page = yield* readMarketPage({
      resource: marketSummaries,
      selection: {},
      descending: false,
      cursor: last === undefined ? null : [last],
      limit: MARKETS_AT_A_TIME,
    })
    ids.push(...page.ids)
    more = page.more
  }
  return ids
}

/** Copies of the cached rows and averages that are still valid at a time. */
function unchangedParts(
  cached: CachedSummaries | null,
  { changed }: Freshness,
  lastGap: bigint | null,
  at: bigint,
): { rows: Map<string, Row>; averages: Map<string, RateAverages> } {
  if (cached === null || changed === null) return { rows: new Map(), averages: new Map() }
  // A summary has no averages if its periods may be incomplete because of the last gap.
  const rows = new Map(cached.lastGap === lastGap ? cached.rows : [])
  const averages = new Map(cached.averages)
  for (const { resource, scope } of changed) {
    if (!SUMMARY_PARTS.has(resource)) continue
    for (const parts of resource === fundingPeriods.name ? [rows, averages] : [rows]) {
      if (scope === null) parts.clear()
      else parts.delete(scope)
    }
  }
  for (const [marketId, { until }] of averages) {
    if (until > at) continue
    averages.delete(marketId)
    rows.delete(marketId)
  }
  return { rows, averages }
}

/** Ids of markets, ascending, between which there is no other market. */
type AdjacentMarkets = [string, ...string[]]

/**
 * Groups the stale markets, so that one statement reads a group from its first market to its last.
 *
 * @param ids in the order of a page, between any two of which there is no other market
 */
function adjacentMarkets(ids: readonly string[], isStale: (id: string) => boolean): AdjacentMarkets[] {
  const groups: AdjacentMarkets[] = []
  let isOpen = false
  for (const id of ids) {
    if (isStale(id) && isOpen) groups.at(-1)!.push(id)
    else if (isStale(id)) groups.push([id])
    isOpen = isStale(id)
  }
  return groups
}

/** The rows of other resources that summaries combine; by the market's id, unless a name says by its number. */
type SummaryParts = {
  numbers: ReadonlyMap<string, string>
  providers: ReadonlyMap<string, string>
  marketData: ReadonlyMap<string, Row>
  instruments: ReadonlyMap<string, Row>
  periods: ReadonlyMap<string, LatestPeriods>
  /** The last point of each source, after the market's number. */
  lastPointsByNumber: ReadonlyMap<string, readonly Row[]>
  /** The seq of the last point. */
  lastSeqsByNumber: ReadonlyMap<string, string>
}

/** Reads everything but the averages, for all markets together. */
function* readSummaryParts(groups: readonly AdjacentMarkets[]): Query<SummaryParts> {
  const ends = groups.map((group) => [group[0], group.at(-1)!].sort() as [string, string])
  const ids = groups.flat().map((id): [string] => [id])

  const numbers = valueByMarket(yield { text: READ_NUMBERS, each: ends })
  const providers = valueByMarket(yield { text: COUNT_PROVIDERS, each: ends })
  const dataRows: Row[] = yield { text: READ_MARKET_DATA, each: ends }
  const instrumentRows: Row[] = yield instrumentsStatement(ends, ids.length)
  const periods = latestPeriods(yield { text: READ_PERIODS, each: ids })
  const eachNumber = [...numbers.values()].map((number): [bigint] => [BigInt(number)])
  const pointRows: Row[] = yield { text: READ_LAST_POINTS, each: eachNumber }
  const lastSeqsByNumber = valueByMarket(yield { text: READ_POINTS_SEQ, each: eachNumber })
  return {
    numbers,
    providers,
    marketData: new Map(dataRows.map((row) => [String(row[0]), row])),
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

/**
 * Reads the summaries of markets.
 *
 * @param validAverages averages that need not be calculated again
 * @param lastGap the last missing block; null if none is
 * @param at time of the store head, Unix nanoseconds
 */
function* readSummaries(
  groups: readonly AdjacentMarkets[],
  validAverages: ReadonlyMap<string, RateAverages>,
  lastGap: bigint | null,
  at: bigint,
): Query<Map<string, ReadSummary>> {
  const parts = yield* readSummaryParts(groups)
  const summaries = new Map<string, ReadSummary>()
  for (const marketId of groups.flat()) {
    const running = runningOf(parts.periods.get(marketId) ?? NO_PERIODS)
    const averages = validAverages.get(marketId) ?? (yield* readRateAverages(marketId, running, at))
    summaries.set(marketId, { row: rowOf(marketId, summaryOf(marketId, parts, averages, lastGap)), averages })
  }
  return summaries
}

/** Combines the parts of one market's summary. */
function summaryOf(
  marketId: string,
  parts: SummaryParts,
  averages: RateAverages,
  lastGap: bigint | null,
): Summary {
  const number = parts.numbers.get(marketId)!
  const instrument = parts.instruments.get(marketId)
  const data = parts.marketData.get(marketId)
  const periods = parts.periods.get(marketId) ?? NO_PERIODS
  const running = runningOf(periods)
  const isLatest = isLatestPeriod(periods, [parts.lastSeqsByNumber.get(number), seqOfData(data)])
  const areComplete = isLatest && (lastGap === null || lastGap < periods.startHeight)
  const lastPoints = parts.lastPointsByNumber.get(number) ?? []
  return {
    instrument: instrument === undefined ? null : instruments.node(instrument, {}),
    runningPeriod: isLatest ? periodNode(marketId, running) : null,
    lastPaidPeriod: periodNode(marketId, periods.paid),
    estimate: jsonOrNull(estimateNode(data, running)),
    lastExternalPoint: pointNode(marketId, lastPoints, 1),
    lastInternalPoint: pointNode(marketId, lastPoints, 2),
    marketData: jsonOrNull(data === undefined ? null : marketDataNode(data)),
    averages: JSON.stringify(areComplete ? averages.node : NO_AVERAGES),
    providers: parts.providers.get(marketId) ?? '0',
  }
}

function periodNode(marketId: string, row: Row | null): string | null {
  return row === null ? null : fundingPeriods.node(fundingPeriods.finalRow!(row), { marketId })
}

/** The node of the point of a source, among a market's last points. */
function pointNode(marketId: string, lastPoints: readonly Row[], source: number): string | null {
  const row = lastPoints.find((point) => point[SOURCE_COLUMN] === source)
  return row === undefined ? null : fundingPeriodDataPoints.node(row.slice(1), { marketId })
}

/** The row of a summary: its fields in the order of the resource's description (resources/market-summaries.ts). */
function rowOf(marketId: string, summary: Summary): Row {
  return [
    marketId,
    summary.instrument,
    summary.runningPeriod,
    summary.lastPaidPeriod,
    summary.estimate,
    summary.lastExternalPoint,
    summary.lastInternalPoint,
    summary.marketData,
    summary.averages,
    summary.providers,
  ]
}

/**
 * Whether a market's latest stored period is its latest one, as far as other rows say.
 *
 * @param seqs the latest period that data points and market data name
 */
function isLatestPeriod(
  { latest }: LatestPeriods,
  seqs: readonly (string | bigint | null | undefined)[],
): boolean {
  if (latest === null) return false
  const { seq } = keyOfPeriod(latest)
  return seqs.every((namedSeq) => namedSeq == null || BigInt(namedSeq) <= seq)
}

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

const jsonOrNull = (node: object | null) => (node === null ? null : JSON.stringify(node))
