import { nearestInt64 } from './integers.ts'

const DATE_AND_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})?)?$/
const AGE = /^([1-9]\d{0,5})([hdw])$/

/** Lengths of time, in nanoseconds. */
export const SECOND = 1_000_000_000n
const MINUTE = 60n * SECOND
const HOUR = 60n * MINUTE
export const DAY = 24n * HOUR

/** Nanoseconds of the units of an age. */
export const AGE_UNITS: Record<string, bigint> = { h: HOUR, d: DAY, w: 7n * DAY }

/** A time as people write it: Unix nanoseconds, or an age in nanoseconds, or the reason why it is neither. */
type WrittenTime = { time: bigint } | { age: bigint } | { fault: string }

/** The time that was so long before another one: the earliest 64-bit one if that is none. */
export function timeBefore(time: bigint, age: bigint): bigint {
  return nearestInt64(time - age)
}

/** Reads a time as people write it: a date (its midnight in UTC), RFC 3339, Unix nanoseconds, or an age such as `90d`. */
export function readTime(text: string): WrittenTime {
  if (/^-?\d+$/.test(text)) {
    const time = BigInt(text)
    return isInt64(time) ? { time } : { fault: 'It is not a 64-bit integer.' }
  }
  const age = AGE.exec(text)
  if (age !== null) return { age: BigInt(age[1]!) * AGE_UNITS[age[2]!]! }
  const match = DATE_AND_TIME.exec(text)
  if (match === null) return { fault: 'It is not a time.' }
  const [, date, time, fraction, zone] = match
  const read = calendarTime({ date: date!, time, fraction, zone })
  if ('fault' in read) return read
  if (time !== undefined && zone === undefined)
    return { fault: `It names no zone: for UTC write ${text.replace(' ', 'T')}Z.` }
  return isInt64(read.time) ? read : { fault: 'Nanoseconds of 64 bits end in 1677 and 2262.' }
}

const isInt64 = (value: bigint) => value === nearestInt64(value)

/** The parts of a time as they were written: `2026-01-31`, `12:00:05`, `25`, `+02:00`; omitted ones are 0 and UTC. */
type CalendarParts = {
  date: string
  time?: string | undefined
  fraction?: string | undefined
  zone?: string | undefined
}

/** A calendar time in Unix nanoseconds, or the reason why it does not exist. */
export function calendarTime({
  date,
  time = '00:00:00',
  fraction = '',
  zone,
}: CalendarParts): { time: bigint } | { fault: string } {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number]
  const [hour, minute, second] = time.split(':').map(Number) as [number, number, number]
  const wall = new Date(0)
  // Rejects values that the conversion changes: 30 February, 25:00:00.
  wall.setUTCFullYear(year, month - 1, day)
  if (wall.toISOString().slice(0, 10) !== date) return { fault: `There is no ${date}.` }
  wall.setUTCHours(hour, minute, second)
  if (wall.toISOString().slice(0, 19) !== `${date}T${time}`) return { fault: `There is no time ${time}.` }
  const offset = offsetOf(zone)
  if (offset === null) return { fault: `There is no zone ${zone}.` }
  return { time: BigInt(wall.getTime()) * 1_000_000n - offset + BigInt(fraction.padEnd(9, '0')) }
}

/** Offset of a zone from UTC, nanoseconds; null if there is no such zone. */
function offsetOf(zone = 'Z'): bigint | null {
  if (/^z$/i.test(zone)) return 0n
  const [hours, minutes] = [BigInt(zone.slice(1, 3)), BigInt(zone.slice(4))]
  if (hours > 23n || minutes > 59n) return null
  return (zone[0] === '-' ? -1n : 1n) * (hours * HOUR + minutes * MINUTE)
}

/** Unix nanoseconds as RFC 3339 in UTC, without trailing zeros, or with all nine digits. */
export function formatTime(timestamp: bigint, precision?: 'all digits'): string {
  const fraction = ((timestamp % SECOND) + SECOND) % SECOND
  const date = new Date(Number((timestamp - fraction) / 1_000_000n))
  // A synthetic stream may contain times outside the calendar: show the number.
  if (Number.isNaN(date.getTime())) return timestamp.toString()
  const nanoseconds = fraction.toString().padStart(9, '0')
  const digits = precision === 'all digits' ? nanoseconds : nanoseconds.replace(/0+$/, '')
  return date.toISOString().replace(/\.\d+Z$/, digits === '' ? 'Z' : `.${digits}Z`)
}

/** Go's zero time in Unix nanoseconds: the core sends it for a time that is not set. */
export const GO_ZERO_TIME = -6_795_364_578_871_345_152n

/** Nanoseconds beyond the microsecond, which a data node's database cuts off. */
export const MICROSECOND = 1_000n

/** A time, Unix nanoseconds, cut to microseconds as in a data node's database. */
export function cutToMicrosecond(time: bigint): bigint {
  const rest = time % MICROSECOND
  return time - (rest < 0n ? rest + MICROSECOND : rest)
}
