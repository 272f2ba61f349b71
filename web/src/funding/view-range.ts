import { parseTime } from '../figures/format-time.ts'
import type { Range } from './tiles.ts'

const SECOND = 1_000_000_000n
const HOUR = 3_600n * SECOND
const DAY = 24n * HOUR

/** Spans to choose from, nanoseconds; null for all that there is. */
export const SPANS: readonly (readonly [name: string, ns: bigint | null])[] = [
  ['15min', 900n * SECOND],
  ['1h', HOUR],
  ['6h', 6n * HOUR],
  ['1d', DAY],
  ['7d', 7n * DAY],
  ['30d', 30n * DAY],
  ['1y', 365n * DAY],
  ['all', null],
]

/** No range is shorter: within it a place on the screen is a microsecond still. */
const SHORTEST = SECOND / 10n

/** What part of a span is left free at the right edge. */
const MARGIN = 50n

/** What of a market's points is looked at. */
export type ViewRange = Range & {
  /** Whether the range follows the latest point. */
  follows: boolean
  /** The name of its span; null where from and to were chosen. */
  span: string | null
}

/**
 * The range that a view's state names: `from` and `to`, or a span up to the latest point. A day is shown where
 * nothing is named, or all where that is less.
 */
export function viewRange(
  given: { from: string | null; to: string | null; span: string | null },
  held: Range,
): ViewRange {
  const [from, to] = [given.from, given.to].map((text) => (text === null ? null : parseTime(text)))
  if (from != null && to != null && from < to) return { ...widen({ from, to }), follows: false, span: null }
  const whole = held.to - held.from
  const span =
    SPANS.find(([name]) => name === given.span) ??
    SPANS.find(([name]) => name === (whole > DAY ? '1d' : 'all'))!
  const length = max(span[1] ?? whole, SHORTEST)
  return { from: held.to - length, to: held.to + length / MARGIN + 1n, follows: true, span: span[0] }
}

/** A range of a part of the length, or a multiple, about a place in it (0 to 1). */
export function zoom({ from, to }: Range, factor: number, place = 0.5): Range {
  const length = to - from
  const next = scaled(length, factor)
  const begin = from + scaled(length - next, place)
  return widen({ from: begin, to: begin + next })
}

/** A range moved by a part of its length: to later times where that is positive. */
export function pan({ from, to }: Range, part: number): Range {
  const by = scaled(to - from, part)
  return { from: from + by, to: to + by }
}

function widen({ from, to }: Range): Range {
  return to - from >= SHORTEST ? { from, to } : { from, to: from + SHORTEST }
}

function scaled(length: bigint, factor: number): bigint {
  return (length * BigInt(Math.round(factor * 1e6))) / 1_000_000n
}

function max(left: bigint, right: bigint): bigint {
  return left > right ? left : right
}
