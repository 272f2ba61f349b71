import { type ReadTime, readTime } from '../figures/format-time.ts'
import type { Range } from '../series/series.ts'

const SECOND = 1_000_000_000n
const HOUR = 3_600n * SECOND
const DAY = 24n * HOUR

/** Spans to choose from, nanoseconds; null for all that there is. */
export const SPANS: readonly (readonly [name: string, ns: bigint | null])[] = [
  ['15m', 900n * SECOND],
  ['1h', HOUR],
  ['6h', 6n * HOUR],
  ['1d', DAY],
  ['7d', 7n * DAY],
  ['30d', 30n * DAY],
  ['1y', 365n * DAY],
  ['all', null],
]

/** No range is shorter: the shortest bucket is a second. */
const SHORTEST = 10n * SECOND

/** Where uPlot and calendars still have places: years 1 to 9999 or so. */
const LONGEST = 8_000n * 365n * DAY

/** The shown range of a market's points. */
export type ViewRange = Range & {
  /** Whether the range follows the latest point. */
  follows: boolean
  /** The name of its span; null where from and to were chosen. */
  span: string | null
  /** Fault of the times in the view's state; null if there is none. */
  fault: string | null
}

export type GivenRange = { from: string | null; to: string | null; span: string | null }

/**
 * The range that a view's state names: `from` and `to`, or a span up to the latest point. A day is shown if
 * nothing is named, or all if that is less. What cannot be read is said, and shows the span instead.
 *
 * @param last the time of the last block, which ages are counted back from
 */
export function viewRange(given: GivenRange, held: Range, last: bigint): ViewRange {
  const whole = held.to - held.from
  const span =
    SPANS.find(([name]) => name === given.span) ??
    SPANS.find(([name]) => name === (whole > DAY ? '1d' : 'all'))!
  const length = max(span[1] ?? whole, SHORTEST)
  const following = {
    from: held.to - length,
    to: held.to + 1n,
    follows: true,
    span: span[0],
    fault: null,
  }
  if (given.from === null && given.to === null) return following
  const [from, to] = readRange(given.from, given.to, held, last)
  const fault = faultOf(from, to)
  if (fault !== null) return { ...following, fault }
  const named = { from: (from as { ns: bigint }).ns, to: (to as { ns: bigint }).ns }
  return { ...widen(named), follows: false, span: null, fault: null }
}

/** Parses both ends of a range; an omitted one is the end of the stored data. */
export function readRange(
  from: string | null,
  to: string | null,
  held: Range,
  last: bigint,
): [ReadTime, ReadTime] {
  const read = (text: string | null, otherwise: bigint) =>
    text === null || text.trim() === '' ? { ns: otherwise } : readTime(text, last)
  return [read(from, held.from), read(to, held.to + 1n)]
}

/** Fault of a range's ends, in words; null if there is none. */
export function faultOf(from: ReadTime, to: ReadTime): string | null {
  if ('fault' in from) return from.fault
  if ('fault' in to) return to.fault
  if (from.ns >= to.ns) return 'The range ends before it begins.'
  return to.ns - from.ns > LONGEST ? 'The range is longer than 8,000 years.' : null
}

/** A range of a part of the length, or a multiple, about a place in it (0 to 1). */
export function zoom({ from, to }: Range, factor: number, place = 0.5): Range {
  const length = to - from
  const next = min(scaled(length, factor), LONGEST)
  const begin = from + scaled(length - next, place)
  return widen({ from: begin, to: begin + next })
}

/** A range moved by a part of its length: to later times if that is positive. */
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

function min(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}
