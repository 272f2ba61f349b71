/*
 * How the reference's tables write values, as PostgreSQL gives them as text. Facts: docs/import.md.
 */

/** Ids that are not hex digits, by the one byte that stands for each in the reference's tables. */
const NAMED_IDS: ReadonlyMap<string, string> = new Map([
  ['00', 'VOTE'],
  ['03', 'network'],
  ['04', 'XYZalpha'],
  ['05', 'XYZbeta'],
  ['06', 'XYZdelta'],
  ['07', 'XYZepsilon'],
  ['08', 'XYZgamma'],
  ['09', 'fBTC'],
  ['0a', 'fDAI'],
  ['0b', 'fEURO'],
  ['0c', 'fUSDC'],
])

const BYTEA = /^\\x(?:[0-9a-fA-F]{2})*$/

/** The id that the bytes of a column stand for, `\x` and hex digits: in lower case, or a name; `""` where it is none. */
export function idOf(bytea: string | null): string {
  if (bytea === null || !BYTEA.test(bytea)) return ''
  const digits = bytea.slice(2).toLowerCase()
  return digits.length === 2 ? (NAMED_IDS.get(digits) ?? digits) : digits
}

const TIME =
  /^(\d{4,6})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/

/**
 * A `timestamp with time zone` such as `2023-10-05 10:05:00.123456+00` in Unix microseconds; NaN for what is none, or too
 * far from 1970 for the nanoseconds of 64 bits (`infinity`, years before 1684 or after 2255).
 */
export function microsecondsOf(text: string | null): number {
  if (text === null) return Number.NaN
  const plain = plainMicroseconds(text)
  if (plain !== null) return plain
  const match = TIME.exec(text)
  if (match === null) return Number.NaN
  const [, year, month, day, hour, minute, second, fraction = '', sign, hours, minutes = 0, seconds = 0] =
    match
  const offset = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  const whole =
    Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)) /
    1000
  const micros = (whole - (sign === '-' ? -offset : offset)) * 1e6 + Number(fraction.padEnd(6, '0'))
  return Number.isSafeInteger(micros) ? micros : Number.NaN
}

/** Digits at places of a text; NaN where there is something else. */
function digits(text: string, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 0x30
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

let lastDay = ''
let lastDayMs = 0

/** The usual form, `2023-10-05 10:05:00[.123456]+00`, fast: millions of rows have it; null for any other. */
function plainMicroseconds(text: string): number | null {
  const { length } = text
  if (length < 22 || length > 29 || !text.endsWith('+00') || text[10] !== ' ' || text[4] !== '-') return null
  const day = text.slice(0, 10)
  if (day !== lastDay) {
    const ms = Date.UTC(digits(text, 0, 4), digits(text, 5, 7) - 1, digits(text, 8, 10))
    if (Number.isNaN(ms) || digits(text, 0, 4) < 1700 || digits(text, 0, 4) > 2200) return null
    lastDay = day
    lastDayMs = ms
  }
  const seconds = digits(text, 11, 13) * 3600 + digits(text, 14, 16) * 60 + digits(text, 17, 19)
  let fraction = 0
  if (length > 22) {
    if (text[19] !== '.') return null
    fraction = digits(text, 20, length - 3) * 10 ** (29 - length)
  }
  const micros = lastDayMs * 1000 + seconds * 1e6 + fraction
  return Number.isNaN(micros) ? null : micros
}

/** Unix microseconds in nanoseconds. */
export function nanoseconds(microseconds: number): bigint {
  return BigInt(microseconds) * 1000n
}
