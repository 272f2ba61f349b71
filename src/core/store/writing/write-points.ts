import { isBefore } from '../../domain/place.ts'
import type { PointKey } from '../../domain/series.ts'
import { BASE } from '../../domain/series-levels.ts'
import {
  blockSpanTable,
  dataPointTable,
  type PointRow,
  periodSpanTable,
} from '../../resources/funding-period-data-points/table.ts'
import type { fundingPeriodTable } from '../../resources/funding-periods/table.ts'
import type { RowOf } from '../../resources/table.ts'
import { markStale, type RunChanges } from '../derived/stale-series.ts'
import type { UnmadeSeries } from '../derived/unmade-series.ts'
import { type SeriesRun, SOURCE_NUMBERS } from '../readings/counted-points.ts'
import { textOf, WRITE_START } from '../statements.ts'
import { runTogether, type Steps, type Values } from '../steps.ts'
import { spansOf } from './block-spans.ts'
import { type MarketNumbers, numbered } from './market-numbers.ts'
import { type Period, readStarts } from './period-starts.ts'

type PeriodRow = RowOf<typeof fundingPeriodTable>

/** Changes to a store's data points or the starts of their periods. */
export type PointChanges = {
  /** With the ids of their markets. */
  points: readonly RowOf<typeof dataPointTable>[]
  /** Which are written already. */
  periods: readonly PeriodRow[]
}

/** Writes data points and their spans, and marks what of their series is stale then. */
export function* writePoints(
  { points: named, periods }: PointChanges,
  markets: MarketNumbers,
  unmade: UnmadeSeries,
): Steps {
  const points = numbered(named, markets) as PointRow[]
  const runs = pointRuns(points)
  const touched = touchedPeriods([...runs.values()], periods, markets)
  const starts = yield* readStarts(touched, markets)
  for (const [market, { moved }] of starts) {
    for (const source of moved.length > 0 ? SOURCE_NUMBERS : []) {
      const key = `${market} ${source}`
      if (!runs.has(key)) runs.set(key, { run: { market, source }, rows: [] })
    }
  }
  const all = [...runs.values()]
  yield* unmade.learn(all.map(({ run }) => run))
  // In the order of the key: neighbours are written to the same page.
  const rows = all.toSorted(byKey).flatMap((run) => run.rows)
  const [counts = []] = yield { table: dataPointTable, rows, countNewBy: ['market', 'seq'] }
  const spans = spansOf(points, {
    newPoints: new Map(counts.map(([market, seq, count]) => [`${market} ${seq}`, BigInt(count!)])),
    startOf: (market, seq) => starts.get(market)?.now.get(seq) ?? null,
  })
  yield { table: periodSpanTable, rows: spans.periods }
  yield { table: blockSpanTable, rows: spans.blocks }
  const moved = [...starts].flatMap(([market, { moved }]) =>
    moved.map(({ seq, now }): Values => [market, seq, now]),
  )
  if (moved.length > 0) yield { text: WRITE_START, values: moved }
  yield* runTogether(
    all.map(({ run, rows: points }) => {
      const { now, moved } = starts.get(run.market)!
      return noteSeriesChanges(run, { points, starts: now, moved }, unmade)
    }),
  )
}

const READ_LAST_SEQ = `
  select ${textOf('seq')} from funding_period_spans where market = $1
  order by seq desc limit 1`

/** Marks what changes make stale of a run's series, and notes how many points are not in buckets. */
function* noteSeriesChanges(run: SeriesRun, changes: RunChanges, unmade: UnmadeSeries): Steps {
  const madeTo = unmade.madeTo(run)
  const { points, starts, moved } = changes
  const end = madeTo * BASE.nanoseconds
  let late = points.filter(({ timestamp }) => timestamp < end)
  unmade.note(run, points.length - late.length)
  if (late.length + moved.length === 0) return
  // A point that was carried over counts at the start of its period, and affects only later copies of itself.
  const isCarried = ({ seq }: PointKey) => (starts.get(seq) ?? end - 1n) >= end
  if (late.some(isCarried)) {
    const [lasts] = yield { text: READ_LAST_SEQ, values: [[run.market]] }
    const last = BigInt(lasts![0]![0]!)
    late = late.filter((point) => !isCarried(point) || point.seq < last)
  }
  if (late.length + moved.length === 0) return
  unmade.note(run, yield* markStale(run, madeTo, { points: late, starts, moved }))
}

/** The periods that a batch touches: its own, and those of its points. */
function touchedPeriods(
  runs: readonly PointRun[],
  periods: readonly PeriodRow[],
  markets: MarketNumbers,
): Period[] {
  const touched = new Map<string, Period>()
  const touch = (market: bigint, seq: bigint): Period => {
    const key = `${market} ${seq}`
    let period = touched.get(key)
    if (period === undefined) {
      period = { market, seq, hasArrived: false, hasPoints: false }
      touched.set(key, period)
    }
    return period
  }
  for (const { run, rows } of runs) {
    let last: bigint | null = null
    for (const { seq } of rows) {
      if (seq !== last) touch(run.market, seq).hasPoints = true
      last = seq
    }
  }
  for (const { market_id: id, seq } of periods) touch(markets.get(id)!, seq).hasArrived = true
  return [...touched.values()]
}

/** The points of one source of a market. */
type PointRun = { run: SeriesRun; rows: readonly PointRow[] }

const byKey = ({ run: a }: PointRun, { run: b }: PointRun) =>
  Number(a.market - b.market) || Number(a.source - b.source)

/** Points by their run, `${market} ${source}`. */
function pointRuns(rows: readonly PointRow[]): Map<string, PointRun> {
  const byMarket = new Map<bigint, PointRow[][]>()
  for (const row of rows) {
    const { market, source } = row
    let bySource = byMarket.get(market)
    if (bySource === undefined) {
      bySource = []
      byMarket.set(market, bySource)
    }
    const run = bySource[source]
    if (run === undefined) bySource[source] = [row]
    else run.push(row)
  }
  const runs = new Map<string, PointRun>()
  for (const [market, bySource] of byMarket) {
    for (const [source, some] of bySource.entries()) {
      if (some !== undefined) runs.set(`${market} ${source}`, runOf(some))
    }
  }
  return runs
}

/** Points of one source of a market in the order of the key, of each key the newest. */
function runOf(given: readonly PointRow[]): PointRun {
  // Those of a stream mostly are in order.
  const isInOrder = given.every((row, index) => index === 0 || comparePoints(given[index - 1]!, row) < 0)
  const rows = isInOrder ? given : sortedRun(given)
  const { market, source } = rows[0]!
  return { run: { market, source: BigInt(source) }, rows }
}

/** Compares points of one run by time and seq. */
function comparePoints(a: PointRow, b: PointRow): number {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  if (a.seq !== b.seq) return a.seq < b.seq ? -1 : 1
  return 0
}

function sortedRun(given: readonly PointRow[]): PointRow[] {
  const placeOfPoint = ({ height, event_index: index }: PointRow) => ({ height, index })
  const rows = given.toSorted(
    (a, b) => comparePoints(a, b) || (isBefore(placeOfPoint(a), placeOfPoint(b)) ? -1 : 1),
  )
  return rows.filter((row, index) => index === rows.length - 1 || comparePoints(row, rows[index + 1]!) !== 0)
}
