const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/

const MINUTE_MS = 60_000

/** A time by RFC 3339, such as `2026-01-31T12:00:00.5Z`, in Unix nanoseconds; null for what is none. */
export function parseRfc3339(text: string): bigint | null {
  const match = RFC_3339.exec(text)
  if (match === null) return null
  const [, year, month, day, hour, minute, second, fraction = '', sign = '+', hours = '0', minutes = '0'] =
    match
  const wall = new Date(0)
  wall.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  wall.setUTCHours(Number(hour), Number(minute), Number(second))
  // What does not come out the same is not a date: 30 February, 25:00.
  if (wall.toISOString().slice(0, 19) !== `${year}-${month}-${day}T${hour}:${minute}:${second}`) return null
  if (Number(hours) > 23 || Number(minutes) > 59) return null
  const offset = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS * (sign === '-' ? -1 : 1)
  return BigInt(wall.getTime() - offset) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}

/** A time in Unix nanoseconds by RFC 3339, in UTC, to the nanosecond where it has any. */
export function formatTime(timestamp: bigint): string {
  const fraction = ((timestamp % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n
  const date = new Date(Number((timestamp - fraction) / 1_000_000n))
  // What a hand-made stream may hold, and no calendar: the number says it all.
  if (Number.isNaN(date.getTime())) return timestamp.toString()
  const digits = fraction.toString().padStart(9, '0').replace(/0+$/, '')
  return date.toISOString().replace(/\.\d+Z$/, digits === '' ? 'Z' : `.${digits}Z`)
}

/** Nanoseconds that a time loses in a database that keeps microseconds. */
export const MICROSECOND = 1_000n

/** A time, Unix nanoseconds, as a database keeps it that keeps microseconds: what an import brings. */
export function cutToMicrosecond(time: bigint): bigint {
  const rest = time % MICROSECOND
  return time - (rest < 0n ? rest + MICROSECOND : rest)
}
