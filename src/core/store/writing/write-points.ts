import { greatest } from '../../domain/integers.ts'
import { isBefore } from '../../domain/place.ts'
import type { SeriesPoint } from '../../domain/series.ts'
import { closingTime } from '../../domain/series-levels.ts'
import {
  blockSpanTable,
  dataPointTable,
  type PointRow,
  periodSpanTable,
} from '../../resources/funding-period-data-points/table.ts'
import type { fundingPeriodTable } from '../../resources/funding-periods/table.ts'
import type { RowOf } from '../../resources/table.ts'
import { type SeriesRun, SOURCES } from '../readings/counted-points.ts'
import { spansOf } from './block-spans.ts'
import { type MarketNumbers, numbered } from './market-numbers.ts'
import { type Period, readStartChanges, WRITE_START } from './period-starts.ts'
import { runTogether, type Steps, type Values } from './steps.ts'
import { readClosing, readLastTimestamps, writeSeries } from './write-series.ts'

/** Series written together: their input is in memory at the same time. */
const RUNS_AT_A_TIME = 32

type PeriodRow = RowOf<typeof fundingPeriodTable>

/** Changes to a store's data points or their series. */
export type PointChanges = {
  /** With the ids of their markets. */
  points: readonly RowOf<typeof dataPointTable>[]
  /** Which are written already. */
  periods: readonly PeriodRow[]
}

/** Writes data points, their spans and series. */
export function* writePoints({ points: named, periods }: PointChanges, markets: MarketNumbers): Steps {
  const points = numbered(named, markets) as PointRow[]
  const runs = runsOf(points)
  const touched = touchedPeriods([...runs.values()], periods, markets)
  const starts = yield* readStartChanges(touched, markets)
  for (const [market, { isChanged }] of starts) {
    for (const source of isChanged ? SOURCES : []) {
      const key = `${market} ${source}`
      if (!runs.has(key)) runs.set(key, { run: { market, source }, points: [], rows: [] })
    }
  }
  const lasts = yield* readLastTimestamps([...runs.values()].map(({ run }) => run))
  // In the order of the key: neighbours are written to the same page.
  const rows = [...runs.values()].sort(byKey).flatMap((run) => run.rows)
  const [counts = []] = yield { table: dataPointTable, rows, countNewBy: ['market', 'seq'] }
  const spans = spansOf(points, {
    newPoints: new Map(counts.map(([market, seq, count]) => [`${market} ${seq}`, BigInt(count!)])),
    startOf: (market, seq) => starts.get(market)?.now.get(seq) ?? null,
  })
  yield { table: periodSpanTable, rows: spans.periods }
  yield { table: blockSpanTable, rows: spans.blocks }
  const moved = [...starts].flatMap(([market, { moved, now }]) =>
    moved.map((seq): Values => [market, seq, now.get(seq) ?? null]),
  )
  if (moved.length > 0) yield { text: WRITE_START, values: moved }
  const all = [...runs.values()]
  // If no start has moved, the new closing times follow from those of before.
  const reread = moved.length > 0 ? yield* readClosing(all.map(({ run }) => run)) : null
  const series = all.map(({ run, points }, index) => {
    const { lastBefore, lastSeqBefore, ...change } = starts.get(run.market)!
    const last = lasts[index]!
    const before = closingTime(last, lastBefore)
    const given = latest([last, points.at(-1)?.timestamp ?? null])
    const now =
      reread === null
        ? latest([closingTime(given, lastBefore), ...(given === null ? [] : change.now.values())])
        : reread[index]!
    return writeSeries(run, {
      closing: { before, now },
      points,
      gone: [],
      moved: change.moved,
      starts: change,
      isAhead: points.every(({ seq }) => seq >= lastSeqBefore),
    })
  })
  for (let at = 0; at < series.length; at += RUNS_AT_A_TIME)
    yield* runTogether(series.slice(at, at + RUNS_AT_A_TIME))
}

function latest(times: readonly (bigint | null)[]): bigint | null {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : greatest(known)
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
  for (const { run, points } of runs) {
    let last: bigint | null = null
    for (const { seq } of points) {
      if (seq !== last) touch(run.market, seq).hasPoints = true
      last = seq
    }
  }
  for (const { market_id: id, seq } of periods) touch(markets.get(id)!, seq).hasArrived = true
  return [...touched.values()]
}

/** The points of one source of a market: as rows, and as series take them. */
type PointRun = { run: SeriesRun; points: readonly SeriesPoint[]; rows: readonly PointRow[] }

const byKey = ({ run: a }: PointRun, { run: b }: PointRun) =>
  Number(a.market - b.market) || Number(a.source - b.source)

/** Points by their run, `${market} ${source}`. */
function runsOf(rows: readonly PointRow[]): Map<string, PointRun> {
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
  const isInOrder = given.every((row, index) => index === 0 || compareKeys(given[index - 1]!, row) < 0)
  const rows = isInOrder ? given : sortedRun(given)
  const points = rows.map(({ timestamp, seq, price, twap }) => ({
    time: timestamp,
    timestamp,
    seq,
    price,
    twap,
  }))
  const { market, source } = rows[0]!
  return { run: { market, source: BigInt(source) }, points, rows }
}

/** Compares points of one run by time and seq. */
function compareKeys(a: PointRow, b: PointRow): number {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  if (a.seq !== b.seq) return a.seq < b.seq ? -1 : 1
  return 0
}

function sortedRun(given: readonly PointRow[]): PointRow[] {
  const placeOfPoint = ({ height, event_index: index }: PointRow) => ({ height, index })
  const rows = given.toSorted(
    (a, b) => compareKeys(a, b) || (isBefore(placeOfPoint(a), placeOfPoint(b)) ? -1 : 1),
  )
  return rows.filter((row, index) => index === rows.length - 1 || compareKeys(row, rows[index + 1]!) !== 0)
}
