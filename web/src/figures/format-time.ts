const SECOND = 1_000_000_000n

/** Unix nanoseconds as a date and a time of UTC, to the nanosecond where there is any: `2023-10-05 10:15:04`. */
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

const UNITS: [name: string, ns: bigint][] = [
  ['d', 86_400n * SECOND],
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

/** A time by RFC 3339 to the minute or finer, or Unix nanoseconds, as nanoseconds; null for what is neither. */
export function parseTime(text: string): bigint | null {
  const given = text.trim()
  if (/^-?\d{11,19}$/.test(given)) return BigInt(given)
  const match = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?Z?$/.exec(given)
  if (match === null) return null
  const [, date, minute = '00:00', second = '00', fraction = ''] = match
  const ms = Date.parse(`${date}T${minute}:${second}Z`)
  return Number.isNaN(ms) ? null : BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}
