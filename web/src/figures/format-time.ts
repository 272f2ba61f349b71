import { nearestInt64 } from '../../../src/core/domain/integers.ts'
import { AGE_UNITS, calendarTime, DAY, SECOND } from '../../../src/core/domain/time.ts'

/** Unix nanoseconds as a date and a time of UTC, to the nanosecond if there is any: `2023-10-05 10:15:04`. */
export function formatTime(timestamp: string | bigint): string {
  const time = BigInt(timestamp)
  const fraction = ((time % SECOND) + SECOND) % SECOND
  const date = new Date(Number((time - fraction) / 1_000_000n))
  if (Number.isNaN(date.getTime())) return time.toString()
  const digits = fraction.toString().padStart(9, '0').replace(/0+$/, '')
  return date
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, digits === '' ? '' : `.${digits}`)
}

/** `2024-09-14 07:00:00` */
export const formatSecond = (timestamp: string | bigint): string => formatTime(timestamp).slice(0, 19)

/** `2024-09-14 07:00` */
export const formatMinute = (timestamp: string | bigint): string => formatTime(timestamp).slice(0, 16)

/** `2024-09-14` */
export const formatDay = (timestamp: string | bigint): string => formatTime(timestamp).slice(0, 10)

/**
 * A time as the reader's clocks show it, with the date if that is another one than in UTC: `05:30`, `2024-10-02 05:30`. Null where
 * clocks show UTC.
 */
export function formatLocal(timestamp: string | bigint): string | null {
  const date = new Date(Number(BigInt(timestamp) / 1_000_000n))
  const minutes = date.getTimezoneOffset()
  if (minutes === 0 || Number.isNaN(minutes)) return null
  const local = formatMinute(BigInt(timestamp) - BigInt(minutes) * 60n * SECOND)
  return local.slice(0, 10) === formatDay(timestamp) ? local.slice(11) : local
}

const UNITS: [name: string, ns: bigint][] = [
  ['y', 365n * DAY],
  ['d', DAY],
  ['h', 3_600n * SECOND],
  ['min', 60n * SECOND],
  ['s', SECOND],
  ['ms', 1_000_000n],
  ['µs', 1_000n],
  ['ns', 1n],
]

/** A span of nanoseconds in its two greatest units, from seconds down in one: `3 d 4 h`, `12 s`; the rest is cut off. */
export function formatSpan(ns: bigint): string {
  if (ns < 0n) return `-${formatSpan(-ns)}`
  const first = UNITS.findIndex(([, size]) => ns >= size)
  if (first === -1) return '0 s'
  const [name, size] = UNITS[first]!
  const next = UNITS[first + 1]
  const text = `${ns / size} ${name}`
  const rest = next === undefined || size < SECOND * 60n ? 0n : (ns % size) / next[1]
  return rest === 0n ? text : `${text} ${rest} ${next![0]}`
}

/**
 * A time that someone has written, Unix nanoseconds, or why it is not a time. A named day, week or month is its beginning, with
 * an exclusive end; `every` is the time between two such weekdays.
 */
export type ReadTime = { ns: bigint; end?: bigint; every?: bigint } | { fault: string }

/** Allowed forms of times. */
export const TIMES_ALLOWED =
  '2026-01-31 or 31.1.2026, 2026-01-31 12:00:05 (UTC), today, Monday, this week, last week, this month or last month (counted from the last block), a month such as 2026-01, an age such as 36h, 90d or 2w, or Unix nanoseconds'

const WEEK = AGE_UNITS.w!

/** Weeks begin on Monday: the first one of Unix time. */
const MONDAY = 4n * DAY

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

/** A month by its name or number, `2026-01`; null if a text is none. */
function monthNamed(name: string, last: bigint): { ns: bigint; end: bigint } | null {
  const back = ['this month', 'last month'].indexOf(name)
  if (back !== -1) {
    const date = new Date(Number(last / 1_000_000n))
    return monthOf(date.getUTCFullYear(), date.getUTCMonth() - back)
  }
  const [, year, month] = /^([1-9]\d{3})-(0[1-9]|1[0-2])$/.exec(name) ?? []
  return month === undefined ? null : monthOf(Number(year), Number(month) - 1)
}

/** The times of a month in UTC, which is counted from 0 and may be of another year. */
export function monthOf(year: number, month: number): { ns: bigint; end: bigint } {
  const [ns, end] = [month, month + 1].map((of) => BigInt(Date.UTC(year, of)) * 1_000_000n) as [
    bigint,
    bigint,
  ]
  return { ns, end }
}

/** The day, week or month that a text names, the latest one up to a time; null if it names none. */
function namedSpan(text: string, last: bigint): { ns: bigint; end: bigint; every?: bigint } | null {
  const name = text.toLowerCase()
  const day = last - (last % DAY)
  const week = day - ((day - MONDAY) % WEEK)
  if (name === 'today') return { ns: day, end: day + DAY }
  if (name === 'yesterday') return { ns: day - DAY, end: day }
  if (name === 'this week') return { ns: week, end: week + WEEK }
  if (name === 'last week') return { ns: week - WEEK, end: week }
  const month = monthNamed(name, last)
  if (month !== null) return month
  const index = WEEKDAYS.findIndex((known) => known === name || known.slice(0, 3) === name)
  if (index === -1) return null
  const start = week + BigInt(index) * DAY
  const ns = start > last ? start - WEEK : start
  return { ns, end: ns + DAY, every: WEEK }
}

/**
 * Reads a time as people write it: a date, a date with a time of UTC or by RFC 3339 with a zone, the name of a day, week or
 * month, an age, or Unix nanoseconds.
 *
 * @param last time of the last block, from which ages and names are counted back
 */
export function readTime(text: string, last: bigint): ReadTime {
  const read = timeIn(text, last)
  return 'fault' in read || nearestInt64(read.ns) === read.ns
    ? read
    : { fault: `"${text.trim()}" is not a time from 1677-09-22 to 2262-04-11.` }
}

function timeIn(text: string, last: bigint): ReadTime {
  const given = text.trim().replace(/\s+/g, ' ')
  if (/^-?\d{14,19}$/.test(given)) return { ns: BigInt(given) }
  const age = /^(\d{1,6})([hdw])$/.exec(given)
  if (age !== null) return { ns: last - BigInt(age[1]!) * AGE_UNITS[age[2]!]! }
  const named = namedSpan(given, last)
  if (named !== null) return named
  // A date with points has its day first.
  const iso = given.replace(
    /^(\d{1,2})\.(\d{1,2})\.(\d{4})/,
    (_, day, month, year) => `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`,
  )
  const match =
    /^(\d{4}-\d\d-\d\d)(?:[ Tt](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?([Zz]|[+-]\d\d:\d\d)?$/.exec(iso)
  if (match === null) return { fault: `"${given}" is not a time. Write ${TIMES_ALLOWED}.` }
  const [, date, minute = '00:00', second = '00', fraction, zone] = match
  const read = calendarTime({ date: date!, time: `${minute}:${second}`, fraction, zone })
  return 'time' in read ? { ns: read.time } : read
}

/** A span cut to whole seconds, in its two greatest units. */
export function formatAge(ns: bigint): string {
  return formatSpan(ns < 0n ? 0n : ns - (ns % SECOND))
}
