import { nearestInt64 } from '../../../src/core/domain/integers.ts'
import { DAY, SECOND } from '../../../src/core/domain/time.ts'
import { formatMinute, type ReadTime, readTime } from '../figures/format-time.ts'
import type { Range } from '../series/series.ts'

const HOUR = 3_600n * SECOND

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

/** The shown range of a market's points. */
export type ViewRange = Range & {
  /** Whether the range follows the latest point. */
  follows: boolean
  /** The name of its span; null if from and to are named. */
  span: string | null
  /** Fault of the times in the view's state; null if there is none. */
  fault: string | null
}

/** Identifies a range to a reader: one that follows the data is the same while it moves with them. */
export function subjectOf({ follows, span, from, to }: ViewRange): string {
  return follows ? span! : `${from} ${to}`
}

export type GivenRange = { from: string | null; to: string | null; span: string | null }

/**
 * The range that a view's state names: `from` and `to`, or a span up to the latest point. If these
 * cannot be read, the range has their fault, and is that of the span.
 *
 * @param stored the first and the last time of the stored data
 * @param last the time of the last block, which ages are counted back from
 * @param usual the span that is shown if nothing is named; all if that is less
 */
export function viewRange(given: GivenRange, stored: Range, last: bigint, usual = '1d'): ViewRange {
  const whole = stored.to + 1n - stored.from
  const all = SPANS.at(-1)!
  const usually = SPANS.find(([name]) => name === usual)!
  const span = SPANS.find(([name]) => name === given.span) ?? (whole > usually[1]! ? usually : all)
  const length = max(span[1] ?? whole, SHORTEST)
  // Its start is included and its end is not, so that a day has 24 payments of an hourly market, not the one before it.
  const following = {
    from: stored.to + 1n - length,
    to: stored.to + 1n,
    follows: true,
    span: span[0],
    fault: null,
  }
  if (given.from === null && given.to === null) return following
  const [from, to] = readRange(given.from, given.to, stored, last)
  const fault = faultOf(from, to)
  if (fault !== null) return { ...following, fault }
  const named = { from: (from as { ns: bigint }).ns, to: (to as { ns: bigint }).ns }
  return { ...widen(named), follows: false, span: null, fault: null }
}

/**
 * Parses both ends of a range; an omitted one is the end of the stored data. As the end, a day or a week by its name is
 * included, as far as there are blocks. Alone, a weekday means since then; another day or week, all of it. From Monday to
 * Wednesday is within a week.
 */
export function readRange(
  from: string | null,
  to: string | null,
  stored: Range,
  last: bigint,
): [ReadTime, ReadTime] {
  const read = (text: string | null) => (text === null || text.trim() === '' ? null : readTime(text, last))
  const begin = read(from) ?? { ns: stored.from }
  const written = read(to)
  const weekday = 'every' in begin ? begin : null
  const since = weekday !== null && written === null
  const ends = since ? null : endOf(written ?? begin)
  if (ends === null) return [begin, written ?? { ns: (since ? last : stored.to) + 1n }]
  const isLater = weekday !== null && weekday.ns >= ends
  return [isLater ? { ns: weekday.ns - weekday.every! } : begin, { ns: min(ends, last + 1n) }]
}

/** The end of a day or a week that was written by its name; null of another time. */
const endOf = (read: ReadTime): bigint | null => ('end' in read ? read.end! : null)

/** A date without a time, as {@link readTime} takes it. */
const DATE = /^(?:\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.\d{4})$/

/** What a range is whose ends are names of days or weeks, or that ends with a date; null otherwise. */
export function meaningOf(from: string | null, to: string | null, range: Range, last: bigint): string | null {
  const isNamed = (text: string | null) => text !== null && endOf(readTime(text, last)) !== null
  const isDate = to !== null && DATE.test(to.trim())
  if (!isNamed(from) && !isNamed(to) && !isDate) return null
  const [begin, end] = [range.from, range.to].map(formatMinute)
  const day = isNamed(to) ? `: ${to!.trim()} is included` : isDate ? `: ${to.trim()} is not included` : ''
  return `${begin} to ${end} UTC${day}.`
}

/** Fault of a range's ends, in words; null if there is none. */
export function faultOf(from: ReadTime, to: ReadTime): string | null {
  if ('fault' in from) return from.fault
  if ('fault' in to) return to.fault
  return from.ns >= to.ns ? 'The range ends before it begins.' : null
}

/** A range of a part of the length, or a multiple, about a place in it (0 to 1). */
export function zoom({ from, to }: Range, factor: number, place = 0.5): Range {
  const length = to - from
  const next = scaled(length, factor)
  const begin = from + scaled(length - next, place)
  return widen({ from: begin, to: begin + next })
}

/** A range moved by a part of its length: to later times if that is positive. */
export function pan({ from, to }: Range, part: number): Range {
  const by = scaled(to - from, part)
  return { from: nearestInt64(from + by), to: nearestInt64(to + by) }
}

/** No shorter than the shortest range, and of times that the API takes. */
function widen({ from, to }: Range): Range {
  return { from: nearestInt64(from), to: nearestInt64(max(to, from + SHORTEST)) }
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
