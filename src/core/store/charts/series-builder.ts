import { MAX_INT64, nearestInt64 } from '../../domain/integers.ts'
import { BASE, FIRST_BASE } from '../../domain/series-levels.ts'
import { builtSeriesTable } from '../../resources/funding-period-data-points/table.ts'
import { readMarketNumbers } from '../queries/contents/ids.ts'
import type { MarketSeries } from '../queries/series/counted-points.ts'
import type { Query } from '../queries-protocol.ts'
import { asMutation, type Mutation, runTogether } from '../queries-protocol.ts'
import { buildToLastPoint } from './build-series.ts'
import { COUNT_POINTS } from './stale-series.ts'

/** A series with fewer unbuilt points is left for later: its chart takes a few milliseconds longer. */
const LEAST_POINTS = 4_000

/** A series with more unbuilt points is built before the next commit, so that one more batch makes at most 40,000. */
const MOST_POINTS = 20_000

/** Points of one transaction, which then delays other writers no longer than a commit does. */
const BUILT_TOGETHER = 20_000

/** What readers of a series must read instead of buckets, as its writer knows it. */
type SeriesState = {
  series: MarketSeries
  /** The first of the shortest buckets that is not built. */
  builtTo: bigint
  /** Upper bound of the points from `builtTo` on; after a build, without the newest bucket. */
  unbuiltPoints: number
  /** Points in the ranges that this writer has marked as stale, plus the cost of reading these ranges, in points. */
  staleCost: number
  /** Whether there are ranges that an earlier process has marked, so that their cost is unknown. */
  hasEarlierMarks: boolean
}

/**
 * The cost of a series' chart that building it would save, in points. Marks of an earlier process cost so much that the series
 * is among the next to be built.
 */
function unbuiltCost({ unbuiltPoints, staleCost, hasEarlierMarks }: SeriesState): number {
  return unbuiltPoints + staleCost + (hasEarlierMarks ? MOST_POINTS : 0)
}

/**
 * Builds the series of one writer. It knows how far they are built and what has changed since, and so which ones are due:
 * only the writer of points may advance the built end. After an error the writer calls `clear`, and the state is read from the
 * store again.
 */
export class SeriesBuilder {
  readonly #states = new Map<string, SeriesState>()
  readonly #due = new Set<SeriesState>()
  /** Whether the series with stale buckets that an interrupted process has left have been read. */
  #knowsStale = false

  /** Forgets everything. To be called after an error: the transaction may have been rolled back. */
  clear(): void {
    this.#states.clear()
    this.#due.clear()
    this.#knowsStale = false
  }

  /**
   * Reads the state of series that it does not know, before points are written to them. The first call also reads the
   * series with stale buckets that an interrupted process has left.
   */
  *learn(allSeries: readonly MarketSeries[]): Mutation {
    const staleSeries = this.#knowsStale ? [] : yield* asMutation(readSeriesIn(READ_STALE_SERIES))
    this.#knowsStale = true
    const unknownSeries = new Map<string, MarketSeries>()
    for (const series of [...allSeries, ...staleSeries]) {
      const key = seriesKey(series)
      if (!this.#states.has(key)) unknownSeries.set(key, series)
    }
    for (const state of yield* readStates([...unknownSeries.values()])) {
      this.#states.set(seriesKey(state.series), state)
      this.#addIfDue(state)
    }
  }

  /** The first of the shortest buckets of a series that is not built. `learn` must have read the series. */
  builtTo(series: MarketSeries): bigint {
    return this.#state(series).builtTo
  }

  /** Counts new points of a series, from its built end on. `learn` must have read the series. */
  addUnbuilt(series: MarketSeries, points: number): void {
    const state = this.#state(series)
    state.unbuiltPoints += points
    this.#addIfDue(state)
  }

  /** Adds the cost of buckets of a series that have become stale, in points. `learn` must have read the series. */
  addStale(series: MarketSeries, cost: number): void {
    const state = this.#state(series)
    state.staleCost += cost
    this.#addIfDue(state)
  }

  /**
   * Builds the series that are due, or all, in groups of about 20,000 points, each in its own transaction.
   *
   * @param write runs a mutation in a transaction of its own
   * @param signal stops between two transactions
   */
  async build(
    which: 'due' | 'all',
    write: (mutation: () => Mutation) => void | Promise<void>,
    signal?: AbortSignal,
  ): Promise<void> {
    // An earlier process may have been interrupted, or have ended with an error, before it built its series.
    if (which === 'all') await write(() => this.#learnAll())
    const due = this.#due
    for (const group of this.#nextGroups(which)) {
      if (signal?.aborted) return
      await write(function* () {
        yield* runTogether(group.map(buildOne))
        for (const state of group) due.delete(state)
      })
    }
  }

  *#learnAll(): Mutation {
    yield* this.learn(yield* asMutation(readSeriesIn(READ_BEGUN_SERIES)))
  }

  #state(series: MarketSeries): SeriesState {
    return this.#states.get(seriesKey(series))!
  }

  #addIfDue(state: SeriesState): void {
    if (unbuiltCost(state) >= LEAST_POINTS) this.#due.add(state)
  }

  /** The series to be built now, highest cost first: all, or the first group and every one that costs more than MOST_POINTS. */
  #nextGroups(which: 'due' | 'all'): SeriesState[][] {
    const all = [...this.#states.values()]
    const chosen = which === 'all' ? all.filter((state) => unbuiltCost(state) > 0) : [...this.#due]
    const groups: SeriesState[][] = []
    let points = BUILT_TOGETHER
    for (const state of chosen.sort((a, b) => unbuiltCost(b) - unbuiltCost(a))) {
      const cost = unbuiltCost(state)
      if (points >= BUILT_TOGETHER) {
        if (which === 'due' && groups.length > 0 && cost < MOST_POINTS) break
        groups.push([])
        points = 0
      }
      groups.at(-1)!.push(state)
      points += cost
    }
    return groups
  }
}

function* buildOne(state: SeriesState): Mutation {
  state.builtTo = yield* buildToLastPoint(state.series)
  state.unbuiltPoints = 0
  state.staleCost = 0
  state.hasEarlierMarks = false
}

const READ_STALE_SERIES = `
  select distinct cast(market as text), cast(source as text) from funding_period_series_stale where market = $1`

/** Series that have points: each gets a row with its first points. */
const READ_BEGUN_SERIES = `
  select cast(market as text), cast(source as text) from funding_period_series_made where market = $1`

/** The series of all markets that a statement returns for the number of one. */
function* readSeriesIn(text: string): Query<MarketSeries[]> {
  const markets = yield* readMarketNumbers()
  const rows = yield { text, each: markets.map((market) => [market]) }
  return rows.map(([market, source]) => ({ market: BigInt(market!), source: BigInt(source!) }))
}

const READ_BUILT_TO = `
  select cast(made_to as text), (
    select count(*) from funding_period_series_stale where market = $1 and source = $2
  ) from funding_period_series_made where market = $1 and source = $2`

/**
 * Reads the state of series. A series without a row gets one: other transactions that change the series' points lock it.
 */
function* readStates(allSeries: readonly MarketSeries[]): Mutation<SeriesState[]> {
  const storedStates = yield { text: READ_BUILT_TO, each: allSeries.map(seriesValues) }
  const states = allSeries.map((series, index): SeriesState => {
    const [builtTo, staleRanges] = storedStates[index]![0] ?? []
    return {
      series,
      builtTo: builtTo == null ? FIRST_BASE : BigInt(builtTo),
      unbuiltPoints: 0,
      staleCost: 0,
      hasEarlierMarks: Number(staleRanges ?? 0) > 0,
    }
  })
  const newStates = states.filter((_, index) => storedStates[index]!.length === 0)
  yield {
    table: builtSeriesTable,
    rows: newStates.map(({ series: { market, source }, builtTo }) => ({
      market,
      source: Number(source),
      made_to: builtTo,
    })),
  }
  const counts = yield {
    text: COUNT_POINTS,
    each: states.map(({ series, builtTo }) => [
      ...seriesValues(series),
      nearestInt64(builtTo * BASE.nanoseconds),
      MAX_INT64,
    ]),
  }
  for (const [index, state] of states.entries()) state.unbuiltPoints = Number(counts[index]![0]![0])
  return states
}

const seriesKey = ({ market, source }: MarketSeries) => `${market} ${source}`
const seriesValues = ({ market, source }: MarketSeries): bigint[] => [market, source]
