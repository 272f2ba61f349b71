import { count } from './words.ts'

const DURATION_UNITS = [
  ['day', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** From this many days on, hours are omitted. */
const MANY_DAYS = 10

/** A duration for people, by its two largest units: `12 s`, `5 min 3 s`, `3 h 20 min`, `2 days 5 h`, `90 days`. */
export function describeDuration(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds))
  const parts: string[] = []
  for (const [unit, length] of DURATION_UNITS) {
    const number = Math.floor(rest / length)
    rest -= number * length
    if (number === 0 && parts.length === 0 && unit !== 's') continue
    if (number > 0 || parts.length === 0) {
      parts.push(`${count(number)} ${unit === 'day' && number !== 1 ? 'days' : unit}`)
    }
    // A unit after a zero unit is too small to matter: `1 day`, not `1 day 3 min`.
    if (parts.length === 2 || number === 0 || (unit === 'day' && number >= MANY_DAYS)) break
  }
  return parts.join(' ')
}
