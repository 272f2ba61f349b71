import { MAX_INT64, nearestInt64 } from '../../domain/integers.ts'
import { BASE, FIRST_BASE } from '../../domain/series-levels.ts'
import { builtSeriesTable } from '../../resources/funding-period-data-points/table.ts'
import type { SeriesRun } from '../queries/counted-points.ts'
import { type Mutation, runTogether } from '../queries-protocol.ts'
import { READ_MARKET_IDS } from '../statements.ts'
import { buildSeries } from './build-series.ts'
import { COUNT_POINTS } from './stale-series.ts'

/** A run as its writer knows it. */
type UnbuiltRun = {
  run: SeriesRun
  /** The buckets before this one of the shortest are built. */
  builtTo: bigint
  /** Upper bound of the points that readers read besides buckets, without those since the last built bucket. */
  points: number
}

/** A run with fewer points beside its buckets is left for later: a chart of it takes a few milliseconds longer. */
const LEAST_POINTS = 4_000

/** A run with more is built before anything else is written: with the next commit there are at most 40,000. */
const MOST_POINTS = 20_000

/** Points processed in one transaction, which takes others as long as a commit. */
const BUILT_TOGETHER = 20_000

/**
 * How far the series of the runs that a writer has written to are built, so that it builds the right ones in time. Only the
 * writer advances that; after an error it forgets everything.
 */
export type UnbuiltSeries = {
  /** Forgets everything, after an error: what was written may not be stored. */
  clear(): void
  /** Reads unknown runs before points are written to them, and the runs that a fault has left stale. */
  learn(asked: readonly SeriesRun[]): Mutation
  /** The bucket of a run, which was learned before, up to which all are built. */
  builtTo(run: SeriesRun): bigint
  /** Adds the points of a run that were written, or are in ranges that became stale. */
  note(run: SeriesRun, points: number): void
  /**
   * Builds the series that are due, or all. Each group of runs is built in a transaction of its own.
   *
   * @param write runs a mutation in such a transaction
   * @param signal stops between two transactions
   */
  build(
    which: 'due' | 'all',
    write: (mutation: () => Mutation) => void | Promise<void>,
    signal?: AbortSignal,
  ): Promise<void>
}

export function createUnbuiltSeries(): UnbuiltSeries {
  const runs = new Map<string, UnbuiltRun>()
  const due = new Set<UnbuiltRun>()
  let knowsStale = false

  function clear(): void {
    runs.clear()
    due.clear()
    knowsStale = false
  }

  function* learn(asked: readonly SeriesRun[]): Mutation {
    const all = knowsStale ? asked : [...asked, ...(yield* runsIn(READ_STALE_RUNS))]
    knowsStale = true
    const unknown = new Map(all.map((run) => [runKey(run), run]))
    for (const key of unknown.keys()) if (runs.has(key)) unknown.delete(key)
    const states = yield* readStates([...unknown.values()])
    for (const state of states) {
      runs.set(runKey(state.run), state)
      note(state.run, 0)
    }
  }

  function* learnAll(): Mutation {
    yield* learn(yield* runsIn(READ_BEGUN_RUNS))
  }

  function builtTo(run: SeriesRun): bigint {
    return runs.get(runKey(run))!.builtTo
  }

  function note(run: SeriesRun, points: number): void {
    const state = runs.get(runKey(run))!
    state.points += points
    if (state.points >= LEAST_POINTS) due.add(state)
  }

  async function build(
    which: 'due' | 'all',
    write: (mutation: () => Mutation) => void | Promise<void>,
    signal?: AbortSignal,
  ): Promise<void> {
    // Whoever wrote before may have been interrupted, or have ended with an error, before it built them.
    if (which === 'all') await write(learnAll)
    for (const group of groupsOf(which)) {
      if (signal?.aborted) return
      await write(function* () {
        yield* runTogether(group.map(buildOne))
        for (const state of group) due.delete(state)
      })
    }
  }

  /** The runs to be built now: all, or one group and the urgent ones. */
  function groupsOf(which: 'due' | 'all'): UnbuiltRun[][] {
    const some = which === 'all' ? [...runs.values()].filter(({ points }) => points > 0) : [...due]
    const groups: UnbuiltRun[][] = []
    let points = BUILT_TOGETHER
    for (const state of some.sort((a, b) => b.points - a.points)) {
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

/** Runs that have points: each has had a row since its first ones were written. */
const READ_BEGUN_RUNS = `
  select cast(market as text), cast(source as text) from funding_period_series_made where market = $1`

function* runsIn(text: string): Mutation<SeriesRun[]> {
  const [markets = []] = yield { text: READ_MARKET_IDS, values: [[]] }
  const found = yield { text, values: markets.map(([market]) => [BigInt(market!)]) }
  return found.flat().map(([market, source]) => ({ market: BigInt(market!), source: BigInt(source!) }))
}

const READ_BUILT_TO = `
  select cast(made_to as text), (
    select count(*) from funding_period_series_stale where market = $1 and source = $2
  ) from funding_period_series_made where market = $1 and source = $2`

/** Stored state of runs; unknown runs get a row, which others lock while they change points. */
function* readStates(runs: readonly SeriesRun[]): Mutation<UnbuiltRun[]> {
  const found = yield { text: READ_BUILT_TO, values: runs.map(runValues) }
  const states = runs.map((run, index): UnbuiltRun => {
    const [built, stale] = found[index]![0] ?? []
    const builtTo = built == null ? FIRST_BASE : BigInt(built)
    return { run, builtTo, points: Number(stale ?? 0) > 0 ? MOST_POINTS : 0 }
  })
  const fresh = states.filter((_, index) => found[index]!.length === 0)
  yield {
    table: builtSeriesTable,
    rows: fresh.map(({ run: { market, source }, builtTo }) => ({
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
