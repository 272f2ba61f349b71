import { MAX_INT64, nearestInt64 } from '../../domain/integers.ts'
import { BASE, FIRST_BASE } from '../../domain/series-levels.ts'
import { builtSeriesTable } from '../../resources/funding-period-data-points/table.ts'
import type { Query } from '../pages/page.ts'
import type { SeriesRun } from '../queries/counted-points.ts'
import { readMarketNumbers } from '../queries/ids.ts'
import { asMutation, type Mutation, runTogether } from '../queries-protocol.ts'
import { buildSeries } from './build-series.ts'
import { COUNT_POINTS } from './stale-series.ts'

/** What a writer knows of a run. */
type UnbuiltRun = {
  run: SeriesRun
  /** The first of the shortest buckets that is not built. */
  builtTo: bigint
  /** Upper bound of the points that readers read in addition to buckets, without those of the bucket after the last built one. */
  points: number
}

/** A run with fewer unbuilt points is left for later: its chart takes a few milliseconds longer. */
const LEAST_POINTS = 4_000

/** A run with more unbuilt points is built before the next commit, after which it has at most 40,000. */
const MOST_POINTS = 20_000

/** Points of one transaction, which then delays other writers no longer than a commit does. */
const BUILT_TOGETHER = 20_000

/**
 * How far the series of the runs of one writer are built, so that it knows which ones are due. Only the writer of points
 * advances that. After an error the writer calls `clear`, and the state is read from the store again.
 */
export type UnbuiltSeries = {
  /** Forgets everything. To be called after an error: the transaction may have been rolled back. */
  clear(): void
  /**
   * Reads the state of runs that it does not know, before points are written to them. The first call also reads the runs
   * with stale buckets that an interrupted process has left.
   */
  learn(runs: readonly SeriesRun[]): Mutation
  /** The first of the shortest buckets of a run that is not built. `learn` must have read the run. */
  builtTo(run: SeriesRun): bigint
  /** Counts unbuilt points of a run that `learn` has read: new ones, and those in buckets that have become stale. */
  note(run: SeriesRun, points: number): void
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

/** The unbuilt series of a writer, which knows no run yet. */
export function createUnbuiltSeries(): UnbuiltSeries {
  const states = new Map<string, UnbuiltRun>()
  const due = new Set<UnbuiltRun>()
  let knowsStale = false

  function clear(): void {
    states.clear()
    due.clear()
    knowsStale = false
  }

  function* learn(runs: readonly SeriesRun[]): Mutation {
    const staleRuns = knowsStale ? [] : yield* asMutation(readRuns(READ_STALE_RUNS))
    knowsStale = true
    const unknownRuns = new Map<string, SeriesRun>()
    for (const run of [...runs, ...staleRuns]) {
      const key = runKey(run)
      if (!states.has(key)) unknownRuns.set(key, run)
    }
    for (const state of yield* readStates([...unknownRuns.values()])) {
      states.set(runKey(state.run), state)
      note(state.run, 0)
    }
  }

  function* learnAll(): Mutation {
    yield* learn(yield* asMutation(readRuns(READ_BEGUN_RUNS)))
  }

  function builtTo(run: SeriesRun): bigint {
    return states.get(runKey(run))!.builtTo
  }

  function note(run: SeriesRun, points: number): void {
    const state = states.get(runKey(run))!
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

  /** The runs to be built now, most points first: all, or the first group and every run with more than MOST_POINTS. */
  function groupsOf(which: 'due' | 'all'): UnbuiltRun[][] {
    const chosen = which === 'all' ? [...states.values()].filter(({ points }) => points > 0) : [...due]
    const groups: UnbuiltRun[][] = []
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

function* buildOne(state: UnbuiltRun): Mutation {
  state.builtTo = yield* buildSeries(state.run)
  state.points = 0
}

const READ_STALE_RUNS = `
  select distinct cast(market as text), cast(source as text) from funding_period_series_stale where market = $1`

/** Runs that have points: each gets a row with its first points. */
const READ_BEGUN_RUNS = `
  select cast(market as text), cast(source as text) from funding_period_series_made where market = $1`

/** The runs of all markets that a statement returns for the number of one. */
function* readRuns(text: string): Query<SeriesRun[]> {
  const markets = yield* readMarketNumbers()
  const rows = yield { text, each: markets.map((market) => [market]) }
  return rows.map(([market, source]) => ({ market: BigInt(market!), source: BigInt(source!) }))
}

const READ_BUILT_TO = `
  select cast(made_to as text), (
    select count(*) from funding_period_series_stale where market = $1 and source = $2
  ) from funding_period_series_made where market = $1 and source = $2`

/** Reads the state of runs. A run without a row gets one, which those that change points lock. */
function* readStates(runs: readonly SeriesRun[]): Mutation<UnbuiltRun[]> {
  const storedStates = yield { text: READ_BUILT_TO, values: runs.map(runValues) }
  const states = runs.map((run, index): UnbuiltRun => {
    const [builtTo, staleRanges] = storedStates[index]![0] ?? []
    return {
      run,
      builtTo: builtTo == null ? FIRST_BASE : BigInt(builtTo),
      points: Number(staleRanges ?? 0) > 0 ? MOST_POINTS : 0,
    }
  })
  const newStates = states.filter((_, index) => storedStates[index]!.length === 0)
  yield {
    table: builtSeriesTable,
    rows: newStates.map(({ run: { market, source }, builtTo }) => ({
      market,
      source: Number(source),
      made_to: builtTo,
    })),
  }
  const counts = yield {
    text: COUNT_POINTS,
    values: states.map(({ run, builtTo }) => [
      ...runValues(run),
      nearestInt64(builtTo * BASE.nanoseconds),
      MAX_INT64,
    ]),
  }
  for (const [index, state] of states.entries()) state.points += Number(counts[index]![0]![0])
  return states
}

const runKey = ({ market, source }: SeriesRun) => `${market} ${source}`
const runValues = ({ market, source }: SeriesRun): bigint[] => [market, source]
