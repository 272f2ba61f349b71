import { isBefore } from '../../domain/event-position.ts'
import { BASE } from '../../domain/series-levels.ts'
import type { RowOf } from '../../model/table.ts'
import {
  blockSpanTable,
  dataPointTable,
  type PointRow,
  periodSpanTable,
} from '../../resources/funding-period-data-points/table.ts'
import type { SeriesBuilder } from '../charts/series-builder.ts'
import { markStale } from '../charts/stale-series.ts'
import type { MarketSeries } from '../queries/counted-points.ts'
import { type Mutation, runTogether } from '../queries-protocol.ts'
import { spansOf } from './block-spans.ts'
import { type MarketNumbers, numbered } from './market-numbers.ts'

/** Writes data points and their spans, and marks the parts of their series that this makes stale. */
export function* writePoints(
  named: readonly RowOf<typeof dataPointTable>[],
  markets: MarketNumbers,
  builder: SeriesBuilder,
): Mutation {
  const points = numbered(named, markets) as PointRow[]
  // Sorted by key, because neighbours are written to the same page.
  const allPoints = pointsBySeries(points).toSorted(byKey)
  yield* builder.learn(allPoints.map(({ series }) => series))
  const rows = allPoints.flatMap((ofSeries) => ofSeries.rows)
  const [counts = []] = yield { table: dataPointTable, rows, countNewBy: ['market', 'seq'] }
  const spans = spansOf(
    points,
    new Map(counts.map(([market, seq, count]) => [`${market} ${seq}`, BigInt(count!)])),
  )
  yield { table: periodSpanTable, rows: spans.periods }
  yield { table: blockSpanTable, rows: spans.blocks }
  yield* runTogether(allPoints.map((ofSeries) => noteSeriesChanges(ofSeries, builder)))
}

/** Marks the buckets of a series that new points make stale, and counts the points after the built ones. */
function* noteSeriesChanges({ series, rows }: SeriesPoints, builder: SeriesBuilder): Mutation {
  const end = builder.builtTo(series) * BASE.nanoseconds
  const late = rows.map(({ timestamp }) => timestamp).filter((timestamp) => timestamp < end)
  builder.addUnbuilt(series, rows.length - late.length)
  if (late.length > 0) builder.addStale(series, yield* markStale(series, late))
}

/** The points of one source of a market. */
type SeriesPoints = { series: MarketSeries; rows: readonly PointRow[] }

const byKey = ({ series: a }: SeriesPoints, { series: b }: SeriesPoints) =>
  Number(a.market - b.market) || Number(a.source - b.source)

function pointsBySeries(rows: readonly PointRow[]): SeriesPoints[] {
  const byMarket = new Map<bigint, PointRow[][]>()
  for (const row of rows) {
    const { market, source } = row
    let bySource = byMarket.get(market)
    if (bySource === undefined) {
      bySource = []
      byMarket.set(market, bySource)
    }
    const ofSource = bySource[source]
    if (ofSource === undefined) bySource[source] = [row]
    else ofSource.push(row)
  }
  // A source without points is an empty element, which flat() omits.
  return [...byMarket.values()].flat().map(seriesPointsOf)
}

/** The points of one source of a market in the order of the key, for each key the newest. */
function seriesPointsOf(points: readonly PointRow[]): SeriesPoints {
  // Points of a stream are mostly in order.
  const isInOrder = points.every((row, index) => index === 0 || comparePoints(points[index - 1]!, row) < 0)
  const rows = isInOrder ? points : sortedPoints(points)
  const { market, source } = rows[0]!
  return { series: { market, source: BigInt(source) }, rows }
}

/** Compares points of one series by time, then by seq. */
function comparePoints(a: PointRow, b: PointRow): number {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  if (a.seq !== b.seq) return a.seq < b.seq ? -1 : 1
  return 0
}

function sortedPoints(points: readonly PointRow[]): PointRow[] {
  const positionOfPoint = ({ height, event_index: index }: PointRow) => ({ height, index })
  const rows = points.toSorted(
    (a, b) => comparePoints(a, b) || (isBefore(positionOfPoint(a), positionOfPoint(b)) ? -1 : 1),
  )
  return rows.filter((row, index) => index === rows.length - 1 || comparePoints(row, rows[index + 1]!) !== 0)
}
