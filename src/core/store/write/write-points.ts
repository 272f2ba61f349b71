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
import type { MarketSeries } from '../queries/series/counted-points.ts'
import { type Mutation, runTogether } from '../queries-protocol.ts'
import { type MarketNumbers, numbered } from './market-numbers.ts'
import { periodKey, spansOf } from './point-spans.ts'

/**
 * Writes data points and their spans, and marks the parts of their series that this makes stale.
 *
 * @param rows points that name their market by its id
 */
export function* writePoints(
  rows: readonly RowOf<typeof dataPointTable>[],
  markets: MarketNumbers,
  builder: SeriesBuilder,
): Mutation {
  const points = numbered(rows, markets) as PointRow[]
  // Sorted by key, because neighbours are written to the same page.
  const allSeries = pointsBySeries(points).toSorted(byKey)
  yield* builder.learn(allSeries.map(({ series }) => series))
  const newPoints = yield* writeCountingNew(allSeries.flatMap((ofSeries) => ofSeries.points))
  const spans = spansOf(points, newPoints)
  yield { table: periodSpanTable, rows: spans.periods }
  yield { table: blockSpanTable, rows: spans.blocks }
  yield* runTogether(allSeries.map((ofSeries) => noteSeriesChanges(ofSeries, builder)))
}

/** Writes points; returns how many of each period were not stored, by {@link periodKey}. */
function* writeCountingNew(points: readonly PointRow[]): Mutation<Map<string, bigint>> {
  const [counts = []] = yield { table: dataPointTable, rows: points, countNewBy: ['market', 'seq'] }
  return new Map(
    counts.map(([market, seq, count]) => [periodKey(String(market), String(seq)), BigInt(count!)]),
  )
}

/** Marks the buckets of a series that new points make stale, and counts the points after the built ones. */
function* noteSeriesChanges({ series, points }: SeriesPoints, builder: SeriesBuilder): Mutation {
  const end = builder.builtTo(series) * BASE.nanoseconds
  const late = points.map(({ timestamp }) => timestamp).filter((timestamp) => timestamp < end)
  builder.addUnbuilt(series, points.length - late.length)
  if (late.length > 0) builder.addStale(series, yield* markStale(series, late))
}

/** The points of one source of a market, in the order of the key and without two of one key. */
type SeriesPoints = { series: MarketSeries; points: readonly PointRow[] }

const byKey = ({ series: a }: SeriesPoints, { series: b }: SeriesPoints) =>
  Number(a.market - b.market) || Number(a.source - b.source)

function pointsBySeries(points: readonly PointRow[]): SeriesPoints[] {
  const byMarket = new Map<bigint, PointRow[][]>()
  for (const point of points) {
    const { market, source } = point
    let bySource = byMarket.get(market)
    if (bySource === undefined) {
      bySource = []
      byMarket.set(market, bySource)
    }
    const ofSource = bySource[source]
    if (ofSource === undefined) bySource[source] = [point]
    else ofSource.push(point)
  }
  // A source without points is an empty element, which flat() omits.
  return [...byMarket.values()].flat().map(seriesPointsOf)
}

/** Sorts the points of one source of a market by key; of two with one key the newer one counts. */
function seriesPointsOf(points: readonly PointRow[]): SeriesPoints {
  // Points of a stream are mostly in order.
  const isInOrder = points.every(
    (point, index) => index === 0 || comparePoints(points[index - 1]!, point) < 0,
  )
  const { market, source } = points[0]!
  return {
    series: { market, source: BigInt(source) },
    points: isInOrder ? points : sortedPoints(points),
  }
}

/** Compares points of one series by time, then by seq. */
function comparePoints(a: PointRow, b: PointRow): number {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  if (a.seq !== b.seq) return a.seq < b.seq ? -1 : 1
  return 0
}

function sortedPoints(points: readonly PointRow[]): PointRow[] {
  const positionOfPoint = ({ height, event_index: index }: PointRow) => ({ height, index })
  const sorted = points.toSorted(
    (a, b) => comparePoints(a, b) || (isBefore(positionOfPoint(a), positionOfPoint(b)) ? -1 : 1),
  )
  return sorted.filter((point, index) => {
    const next = sorted[index + 1]
    return next === undefined || comparePoints(point, next) !== 0
  })
}
