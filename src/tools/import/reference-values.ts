import { NAMED_IDS } from '#core/domain/ids'

/* Values in the reference's tables, as PostgreSQL's text. Facts: docs/import.md. */

const BYTEA = /^\\x(?:[0-9a-fA-F]{2})*$/

/** The id in a column's bytes, which are `\x` and hex digits: in lower case, or a name; `""` if it is invalid. */
export function idOf(bytea: string | null): string {
  if (bytea === null || !BYTEA.test(bytea)) return ''
  const digits = bytea.slice(2).toLowerCase()
  return digits.length === 2 ? (NAMED_IDS.get(digits) ?? digits) : digits
}

const REFERENCE_TIME =
  /^(\d{4,6}-\d\d-\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/

/**
 * A `timestamp with time zone` such as `2023-10-05 10:05:00.123456+00` in Unix microseconds. NaN if it is invalid, or
 * outside 64-bit nanoseconds (`infinity`, years before 1700 or after 2200).
 */
export function microsecondsOf(text: string | null): number {
  if (text === null) return Number.NaN
  const plain = plainMicroseconds(text)
  if (!Number.isNaN(plain)) return plain
  const match = REFERENCE_TIME.exec(text)
  if (match === null) return Number.NaN
  const [, day, hour, minute, second, fraction = '', sign, hours, minutes = 0, seconds = 0] = match
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  const micros = timeOfDay(Number(hour), Number(minute), Number(second)) + Number(fraction.padEnd(6, '0'))
  return dayStart(day!) + micros - (sign === '-' ? -offset : offset) * 1e6
}

/**
 * Parses the usual form, `2023-10-05 10:05:00[.123456]+00`, which millions of rows have, quickly; NaN for any other form.
 */
function plainMicroseconds(text: string): number {
  const { length } = text
  if (length < 22 || length > 29 || !text.endsWith('+00') || text[10] !== ' ') return Number.NaN
  if (length > 22 && text[19] !== '.') return Number.NaN
  const time = timeOfDay(
    digitsBetween(text, 11, 13),
    digitsBetween(text, 14, 16),
    digitsBetween(text, 17, 19),
  )
  const fraction = length > 22 ? digitsBetween(text, 20, length - 3) * 10 ** (29 - length) : 0
  return dayStart(text.slice(0, 10)) + time + fraction
}

/** The number in digits of a text, from one offset to another; NaN if there is anything else. */
function digitsBetween(text: string, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 0x30
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

function timeOfDay(hour: number, minute: number, second: number): number {
  return hour < 24 && minute < 60 && second < 60 ? (hour * 3600 + minute * 60 + second) * 1e6 : Number.NaN
}

let lastDay = ''
let lastDayStart = Number.NaN

/** The start of a day such as `2023-10-05`, in Unix microseconds; NaN if there is no such day. */
function dayStart(day: string): number {
  if (day === lastDay) return lastDayStart
  const ms = Date.parse(`${day}T00:00:00Z`)
  const date = new Date(ms)
  const isDay = day.length === 10 && !Number.isNaN(ms) && date.toISOString().startsWith(day)
  const isNear = isDay && date.getUTCFullYear() >= 1700 && date.getUTCFullYear() <= 2200
  lastDay = day
  lastDayStart = isNear ? ms * 1000 : Number.NaN
  return lastDayStart
}

/** Unix microseconds in nanoseconds. */
export function fromMicroseconds(microseconds: number): bigint {
  return BigInt(microseconds) * 1000n
}

/** Whether a text can be a chain id, as in events. */
export function isChainId(text: string): boolean {
  return text !== '' && text.length <= 256 && !text.includes('\0')
}
