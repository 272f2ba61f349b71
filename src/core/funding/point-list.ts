/** A price that is valid from `time` (Unix nanoseconds) until the next point. `price` is scaled by the asset's decimals. */
export type PricePoint = { time: bigint; price: bigint }

/** The outcome for a new point: a row of the table in docs/twap.md. */
type Placement = 'only' | 'last' | 'between' | 'first' | 'instead-of-first' | 'duplicate' | 'too-old'

/**
 * The outcome for a point at `time`. The source's points are sorted by time, without two of the same time, and with at most
 * one at or before the start of the period.
 */
export function placementOf(points: readonly PricePoint[], periodStart: bigint, time: bigint): Placement {
  const first = points[0]
  const last = points.at(-1)
  if (first === undefined || last === undefined) return 'only'
  if (time < first.time) return first.time > periodStart ? 'first' : 'too-old'
  if (time === first.time || time === last.time) return 'duplicate'
  if (time <= periodStart) return 'instead-of-first'
  if (time > last.time) return 'last'
  return points[indexAfter(points, time) - 1]!.time === time ? 'duplicate' : 'between'
}

/** The index of the first point later than `time`; the list's length if there is none. */
export function indexAfter(points: readonly PricePoint[], time: bigint): number {
  let index = points.length
  while (index > 0 && points[index - 1]!.time > time) index--
  return index
}

/** Adds a point to a source's list, unless the core refuses it; returns the outcome. */
export function placePoint(points: PricePoint[], periodStart: bigint, point: PricePoint): Placement {
  const placement = placementOf(points, periodStart, point.time)
  switch (placement) {
    case 'only':
    case 'first':
      points.unshift(point)
      break
    case 'instead-of-first':
      points[0] = point
      break
    case 'last':
    case 'between':
      points.splice(indexAfter(points, point.time), 0, point)
      break
    case 'duplicate':
    case 'too-old':
      break
    default:
      placement satisfies never
  }
  return placement
}

/** The points carried over into a period that begins at `start`: the later ones, and the last one at or before it. */
export function carriedOver(points: readonly PricePoint[], start: bigint): PricePoint[] {
  return points.slice(Math.max(0, indexAfter(points, start) - 1))
}

/** The start of a source's mean: the period's start, or the first point if that is later. */
export function meanStart(points: readonly PricePoint[], periodStart: bigint): bigint {
  const first = points[0]
  return first !== undefined && first.time > periodStart ? first.time : periodStart
}
