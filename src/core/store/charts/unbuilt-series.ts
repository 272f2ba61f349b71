import { MAX_INT64, nearestInt64 } from '../../domain/integers.ts'
import { BASE, FIRST_BASE } from '../../domain/series-levels.ts'
import { builtSeriesTable } from '../../resources/funding-period-data-points/table.ts'
import type { Query } from '../pages/page.ts'
import type { MarketSeries } from '../queries/counted-points.ts'
import { readMarketNumbers } from '../queries/ids.ts'
import { asMutation, type Mutation, runTogether } from '../queries-protocol.ts'
import { buildSeries } from './build-series.ts'
import { COUNT_POINTS } from './stale-series.ts'

/** The state of a series, as its writer knows it. */
type SeriesState = {
  series: MarketSeries
  /** The first of the shortest buckets that is not built. */
  builtTo: bigint
  /** Upper bound of the points in stale or unbuilt buckets, which readers must read; the newest bucket is not counted. */
  points: number
}

/** A series with fewer unbuilt points is left for later: its chart takes a few milliseconds longer. */
const LEAST_POINTS = 4_000

/** A series with more unbuilt points is built before the next commit, so that one more batch makes at most 40,000. */
const MOST_POINTS = 20_000

/** Points of one transaction, which then delays other writers no longer than a commit does. */
const BUILT_TOGETHER = 20_000

/**
 * How far the series of one writer are built, so that it knows which ones are due. Only the writer of points
 * advances that. After an error the writer calls `clear`, and the state is read from the store again.
 */
export type UnbuiltSeries = {
  /** Forgets everything. To be called after an error: the transaction may have been rolled back. */
  clear(): void
  /**
   * Reads the state of series that it does not know, before points are written to them. The first call also reads the
   * series with stale buckets that an interrupted process has left.
   */
  learn(allSeries: readonly MarketSeries[]): Mutation
  /** The first of the shortest buckets of a series that is not built. `learn` must have read the series. */
  builtTo(series: MarketSeries): bigint
  /** Counts unbuilt points of a series that `learn` has read: new ones, and those in buckets that have become stale. */
  note(series: MarketSeries, points: number): void
  /**
   * Builds the series that are due, or all, in groups of about 20,000 points, each in its own transaction.
   *
   * @param write runs a mutation in a transaction of its own
   * @param signal stops between two transactions
   */
  build(
    which: 'due' | 'all',
    write: (mutation: () => Mutation) => void | Promise<void>,
    signal?: AbortSignal,
  ): Promise<void>
}

/** The unbuilt series of a writer, which knows none yet. */
export function createUnbuiltSeries(): UnbuiltSeries {
  const states = new Map<string, SeriesState>()
  const due = new Set<SeriesState>()
  let knowsStale = false

  function clear(): void {
    states.clear()
    due.clear()
    knowsStale = false
  }

  function* learn(allSeries: readonly MarketSeries[]): Mutation {
    const staleSeries = knowsStale ? [] : yield* asMutation(readSeriesIn(READ_STALE_SERIES))
    knowsStale = true
    const unknownSeries = new Map<string, MarketSeries>()
    for (const series of [...allSeries, ...staleSeries]) {
      const key = seriesKey(series)
      if (!states.has(key)) unknownSeries.set(key, series)
    }
    for (const state of yield* readStates([...unknownSeries.values()])) {
      states.set(seriesKey(state.series), state)
      note(state.series, 0)
    }
  }

  function* learnAll(): Mutation {
    yield* learn(yield* asMutation(readSeriesIn(READ_BEGUN_SERIES)))
  }

  function builtTo(series: MarketSeries): bigint {
    return states.get(seriesKey(series))!.builtTo
  }

  function note(series: MarketSeries, points: number): void {
    const state = states.get(seriesKey(series))!
    state.points += points
    if (state.points >= LEAST_POINTS) due.add(state)
  }

  async function build(
    which: 'due' | 'all',
    write: (mutation: () => Mutation) => void | Promise<void>,
    signal?: AbortSignal,
  ): Promise<void> {
    // An earlier process may have been interrupted, or have ended with an error, before it built its series.
    if (which === 'all') await write(learnAll)
    for (const group of groupsOf(which)) {
      if (signal?.aborted) return
      await write(function* () {
        yield* runTogether(group.map(buildOne))
        for (const state of group) due.delete(state)
      })
    }
  }

  /** The series to be built now, most points first: all, or the first group and every one with more than MOST_POINTS. */
  function groupsOf(which: 'due' | 'all'): SeriesState[][] {
    const chosen = which === 'all' ? [...states.values()].filter(({ points }) => points > 0) : [...due]
    const groups: SeriesState[][] = []
    let points = BUILT_TOGETHER
    for (const state of chosen.sort((a, b) => b.points - a.points)) {
      if (points >= BUILT_TOGETHER) {
        if (which === 'due' && groups.length > 0 && state.points < MOST_POINTS) break
        groups.push([])
        points = 0
      }
      groups.at(-1)!.push(state)
      points += state.points
    }
    return groups
  }

  return { clear, learn, builtTo, note, build }
}

function* buildOne(state: SeriesState): Mutation {
  state.builtTo = yield* buildSeries(state.series)
  state.points = 0
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
  const storedStates = yield { text: READ_BUILT_TO, values: allSeries.map(seriesValues) }
  const states = allSeries.map((series, index): SeriesState => {
    const [builtTo, staleRanges] = storedStates[index]![0] ?? []
    return {
      series,
      builtTo: builtTo == null ? FIRST_BASE : BigInt(builtTo),
      points: Number(staleRanges ?? 0) > 0 ? MOST_POINTS : 0,
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
    values: states.map(({ series, builtTo }) => [
      ...seriesValues(series),
      nearestInt64(builtTo * BASE.nanoseconds),
      MAX_INT64,
    ]),
  }
  for (const [index, state] of states.entries()) state.points += Number(counts[index]![0]![0])
  return states
}

const seriesKey = ({ market, source }: MarketSeries) => `${market} ${source}`
const seriesValues = ({ market, source }: MarketSeries): bigint[] => [market, source]
