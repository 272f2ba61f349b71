import { randomUUID } from 'node:crypto'
import { type KeyValue, keyOf, type ResourceName, type Row } from '../../model/resource.ts'
import { fundingPeriodDataPoints } from '../../resources/funding-period-data-points/description.ts'
import { fundingPeriods } from '../../resources/funding-periods/description.ts'
import { instruments } from '../../resources/instruments/description.ts'
import { liquidityProviders } from '../../resources/liquidity-providers/description.ts'
import { marketSummaries } from '../../resources/market-summaries.ts'
import type { StoreVersion } from '../changes.ts'
import {
  EMPTY_PAGE,
  type Freshness,
  type Page,
  type PageQuery,
  type Query,
  type StoreHead,
} from '../pages/page.ts'
import { columnList, columnNames, POSTGRES_HINTS, pageStatement } from '../pages/scan-sql.ts'
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

/** The last point of each of two sources, after the number of the market. */
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

/** The resources that a summary is made of. */
const SUMMARY_PARTS = new Set<ResourceName>(
  [fundingPeriodDataPoints, fundingPeriods, instruments, liquidityProviders, marketSummaries].map(
    ({ name }) => name,
  ),
)

/** Rows that are cached, at most: the summary of a market takes about 2 kB. */
const MAX_CACHED = 10_000

/** The summaries of markets as of a commit, and the averages in them, by market. */
type CachedSummaries = {
  version: StoreVersion
  /** The last missing block; null if none is. */
  lastGap: bigint | null
  rows: ReadonlyMap<string, Row>
  averages: ReadonlyMap<string, RateAverages>
}

/** Summaries that differ from those of the answer before, and the name of this answer. */
export type ChangedSummaries = { rows: Row[]; name: string }

/** All summaries as of an answer of {@link MarketSummaries.changed}, by market. */
type AnsweredSummaries = { name: string | null; height: bigint; rows: ReadonlyMap<string, Row> }

/** How many of all markets are listed at a time. */
const MARKETS_AT_A_TIME = 1_000

/** Reads market summaries, which are cached: only those of changed markets are read again. */
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
    const { rows } = yield* this.#refresh(cached, state, storeHead, ids)
    return { ...none, rows: ids.map((marketId) => rows.get(marketId)!), more, hasRowsAtOrBefore }
  }

  /**
   * The summaries of all markets that differ from those of the last answer; null while the store has no block, or a replica
   * lags behind that answer.
   *
   * @param known name of the last answer that the caller has; if it is not the last one given, all summaries follow
   */
  *changed(known: string | null): Query<ChangedSummaries | null> {
    const cached = this.#cached
    const state = yield* readFreshness(cached?.version ?? null)
    const { storeHead } = state
    if (storeHead === null || BigInt(storeHead.height) < this.#answered.height) return null
    const ids = yield* readAllMarkets()
    const { rows } = yield* this.#refresh(cached, state, storeHead, ids)
    const before = known === this.#answered.name ? this.#answered.rows : new Map<string, Row>()
    const changed = ids
      .map((id) => rows.get(id)!)
      .filter((row) => !isSameRow(before.get(String(row[0])), row))
    // A query may be repeated after its end: an answer that nobody has got is not taken for known.
    const name = randomUUID()
    this.#answered = { name, height: BigInt(storeHead.height), rows }
    return { rows: changed, name }
  }

  /** Reads the summaries of some markets that are not as they were, or not there. */
  *#refresh(
    cached: CachedSummaries | null,
    state: Freshness,
    storeHead: StoreHead,
    ids: readonly string[],
  ): Query<CachedSummaries> {
    const { version } = state
    const [gap] = yield { text: READ_LAST_GAP }
    const lastGap = gap === undefined ? null : BigInt(gap[0]!)
    const at = BigInt(storeHead.timestamp)
    const { rows, averages } = unchangedParts(cached, state, lastGap, at)
    const runs = runsOf(ids, (id) => !rows.has(id))
    if (runs.length > 0) yield* readRuns(runs, rows, averages, lastGap, at)
    const refreshed = { version, lastGap, rows, averages }
    // A query of an older snapshot may end after one of a newer one.
    if (this.#cached === cached && rows.size <= MAX_CACHED) this.#cached = refreshed
    return refreshed
  }
}

function isSameRow(one: Row | undefined, other: Row): boolean {
  return one?.every((value, at) => value === other[at]) ?? false
}

/** The ids of all markets that any row names, ascending. */
function* readAllMarkets(): Query<string[]> {
  const found: string[] = []
  for (let more = true; more; ) {
    const last = found.at(-1)
    const page = yield* readMarketPage({
      resource: marketSummaries,
      selection: {},
      descending: false,
      cursor: last === undefined ? null : [last],
      limit: MARKETS_AT_A_TIME,
    })
    found.push(...page.ids)
    more = page.more
  }
  return found
}

/** The rows and averages that still hold, in maps of their own. */
function unchangedParts(
  cached: CachedSummaries | null,
  { changed }: Freshness,
  lastGap: bigint | null,
  at: bigint,
): { rows: Map<string, Row>; averages: Map<string, RateAverages> } {
  if (cached === null || changed === null) return { rows: new Map(), averages: new Map() }
  // Whether averages are known depends on the last gap.
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

/** Markets that follow each other in the order of their ids. */
type AdjacentMarkets = [string, ...string[]]

/**
 * Puts markets to be read into runs, each read by the same statements as one market, and without any other.
 *
 * @param ids no other market lies between two of these that follow on each other
 */
function runsOf(ids: readonly string[], isStale: (id: string) => boolean): AdjacentMarkets[] {
  const runs: AdjacentMarkets[] = []
  let isOpen = false
  for (const id of ids) {
    if (isStale(id) && isOpen) runs.at(-1)!.push(id)
    else if (isStale(id)) runs.push([id])
    isOpen = isStale(id)
  }
  return runs
}

/** Adds the rows of the markets of some runs, which are all there are between the first and the last of a run. */
function* readRuns(
  runs: readonly AdjacentMarkets[],
  rows: Map<string, Row>,
  averages: Map<string, RateAverages>,
  lastGap: bigint | null,
  at: bigint,
): Query<void> {
  const ends = runs.map((run) => [run[0], run.at(-1)!].sort() as [string, string])
  const ids = runs.flat().map((id): [string] => [id])
  const byMarket = (found: Row[]) =>
    new Map(found.map(([marketId, value]) => [String(marketId), String(value)]))

  const numbers = byMarket(yield { text: READ_NUMBERS, each: ends })
  const providers = byMarket(yield { text: COUNT_PROVIDERS, each: ends })
  const found: Row[] = yield { text: READ_MARKET_DATA, each: ends }
  const data = new Map(found.map((row) => [String(row[0]), row]))
  const named: Row[] = yield instrumentsStatement(ends, ids.length)
  const byKey = new Map(named.map((row) => [String(keyOf(instruments, row)[0]), row]))
  const latest = latestPeriods(yield { text: READ_PERIODS, each: ids })
  const ofNumbers = [...numbers.values()].map((number): [bigint] => [BigInt(number)])
  const points = Map.groupBy<string, Row>(yield { text: READ_LAST_POINTS, each: ofNumbers }, ([number]) =>
    String(number),
  )
  const seqs = byMarket(yield { text: READ_POINTS_SEQ, each: ofNumbers })

  for (const [marketId] of ids) {
    const instrument = byKey.get(marketId)
    const number = numbers.get(marketId)!
    const periods = latest.get(marketId) ?? NO_PERIODS
    const running = runningOf(periods)
    const ofMarket = points.get(number) ?? []
    const periodNode = (row: Row | null) =>
      row === null ? null : fundingPeriods.node(fundingPeriods.finalRow!(row), { marketId })
    const pointNode = (source: number) => {
      const row = ofMarket.find((point) => point[SOURCE_COLUMN] === source)
      return row === undefined ? null : fundingPeriodDataPoints.node(row.slice(1), { marketId })
    }
    const dataRow = data.get(marketId)
    const average = averages.get(marketId) ?? (yield* readRateAverages(marketId, running, at))
    averages.set(marketId, average)
    const isLatest = isLatestKnown(periods, [seqs.get(number), seqOfData(dataRow)])
    const hidesNone = lastGap === null || lastGap < periods.startHeight
    rows.set(marketId, [
      marketId,
      instrument === undefined ? null : instruments.node(instrument, {}),
      isLatest ? periodNode(running) : null,
      periodNode(periods.paid),
      jsonOrNull(estimateNode(dataRow, running)),
      pointNode(1),
      pointNode(2),
      jsonOrNull(dataRow === undefined ? null : marketDataNode(dataRow)),
      JSON.stringify(isLatest && hidesNone ? average.node : NO_AVERAGES),
      providers.get(marketId) ?? '0',
    ])
  }
}

/** Whether a market's latest stored period is the latest one that anything names. */
function isLatestKnown(
  { latest }: LatestPeriods,
  seqs: readonly (string | bigint | null | undefined)[],
): boolean {
  if (latest === null) return false
  const { seq } = keyOfPeriod(latest)
  return seqs.every((named) => named == null || BigInt(named) <= seq)
}

function instrumentsStatement(ends: readonly [string, string][], limit: number) {
  const statements = ends.map(([low, high]) => {
    const ofRun = {
      resource: instruments,
      selection: {},
      market: null,
      descending: false,
      lower: { key: [low], inclusive: true },
      upper: { key: [high], inclusive: true },
    }
    return pageStatement(ofRun, limit, POSTGRES_HINTS)
  })
  return { text: statements[0]!.text, each: statements.map(({ values }): KeyValue[] => values) }
}

const jsonOrNull = (node: object | null) => (node === null ? null : JSON.stringify(node))
