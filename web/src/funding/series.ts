import { approximate, type Decimal, parseDecimal, subtract } from '../figures/decimal.ts'
import { comparePoints, lastAtOrBefore, type Point } from './point.ts'

/** What both sources come to at a point of either. */
export type Moment = {
  /** Unix nanoseconds. */
  timestamp: bigint
  x: number
  seq: bigint
  external: Point | null
  internal: Point | null
  /** Internal TWAP less external TWAP; null where they are of different periods, or one is not there. */
  difference: Decimal | null
}

/** Every moment at which a point of one of two sources came, in order; those before a time are left out. */
export function momentsOf(external: readonly Point[], internal: readonly Point[]): Moment[] {
  const moments: Moment[] = []
  const latest: { external: Point | null; internal: Point | null } = { external: null, internal: null }
  let e = 0
  let i = 0
  while (e < external.length || i < internal.length) {
    const nextExternal = external[e]
    const nextInternal = internal[i]
    const takeExternal =
      nextInternal === undefined ||
      (nextExternal !== undefined && comparePoints(nextExternal, nextInternal) <= 0)
    const point = takeExternal ? external[e++]! : internal[i++]!
    if (takeExternal) latest.external = point
    else latest.internal = point
    moments.push({
      timestamp: point.timestamp,
      x: point.x,
      seq: point.seq,
      ...latest,
      difference: differenceOf(latest.external, latest.internal),
    })
  }
  return moments
}

/** The state at a time: what the last points at or before it say. */
export function momentAt(
  external: readonly Point[],
  internal: readonly Point[],
  timestamp: bigint,
): Moment | null {
  const points = {
    external: external[lastAtOrBefore(external, timestamp)] ?? null,
    internal: internal[lastAtOrBefore(internal, timestamp)] ?? null,
  }
  const [last] = [points.external, points.internal]
    .filter((point) => point !== null)
    .sort(comparePoints)
    .slice(-1)
  if (last === undefined) return null
  return {
    timestamp: last.timestamp,
    x: last.x,
    seq: last.seq,
    ...points,
    difference: differenceOf(points.external, points.internal),
  }
}

/** Columns as uPlot takes them: times, external price and TWAP, internal price and TWAP. */
export type PriceColumns = [
  number[],
  (number | null)[],
  (number | null)[],
  (number | null)[],
  (number | null)[],
]

export function priceColumns(moments: readonly Moment[]): PriceColumns {
  const of = (source: 'external' | 'internal', value: 'drawnPrice' | 'drawnTwap') => {
    let last: Point | null = null
    return moments.map((moment) => {
      const point = moment[source]
      // Only where the point itself came: between them the line is drawn, not the value repeated. A period takes
      // over points with their old times; those of the one before are not drawn among them.
      if (point === null || point === last || (last !== null && point.seq < last.seq)) return null
      last = point
      return point[value]
    })
  }
  return [
    moments.map(({ x }) => x),
    of('external', 'drawnPrice'),
    of('external', 'drawnTwap'),
    of('internal', 'drawnPrice'),
    of('internal', 'drawnTwap'),
  ]
}

/**
 * Columns as uPlot takes them: times, and the difference of the TWAPs. Where there is none the line is broken, but not
 * where points are left out between (`sampled`): there the sources are rarely seen in the same period.
 */
export function differenceColumns(
  moments: readonly Moment[],
  sampled: boolean,
): [number[], (number | null | undefined)[]] {
  const none = sampled ? undefined : null
  return [
    moments.map(({ x }) => x),
    moments.map(({ difference, external, internal }) => {
      const drawn = external?.drawnTwap != null && internal?.drawnTwap != null
      return difference !== null && drawn ? approximate(difference) : none
    }),
  ]
}

function differenceOf(external: Point | null, internal: Point | null): Decimal | null {
  if (external === null || internal === null || external.seq !== internal.seq) return null
  const [left, right] = [parseDecimal(internal.twap), parseDecimal(external.twap)]
  return left === null || right === null ? null : subtract(left, right)
}
