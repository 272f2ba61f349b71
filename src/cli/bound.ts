import { InvalidArgumentError } from 'commander'
import { MAX_INT64 } from '../domain/integers.ts'
import { formatTime, parseRfc3339 } from '../domain/time.ts'
import type { PruneBound } from '../store/pruner.ts'

/** Integers of this many digits are times: heights are far below, and times since 1970-01-12 above. */
const TIME_DIGITS = 16

const HOUR = 3_600_000_000_000n
const UNITS: Record<string, bigint> = { h: HOUR, d: 24n * HOUR, w: 7n * 24n * HOUR }

/** An age in nanoseconds, of a text such as `36h`, `90d` or `12w`. */
export function parseAge(text: string): bigint {
  const match = AGE.exec(text)
  if (match === null) {
    throw new InvalidArgumentError('It must be a number of hours, days or weeks, such as 36h, 90d or 12w.')
  }
  return BigInt(match[1]!) * UNITS[match[2]!]!
}

const AGE = /^([1-9]\d{0,5})([hdw])$/

/** What a command line says of how old is old: a bound, or an age in nanoseconds before the last block. */
export type GivenBound = PruneBound | { by: 'age'; age: bigint }

/**
 * What old is, as a command line says it: a time by RFC 3339 or in Unix nanoseconds, a block's height, or an age before
 * the last block.
 */
export function parseBound(text: string): GivenBound {
  if (AGE.test(text)) return { by: 'age', age: parseAge(text) }
  if (/^\d+$/.test(text)) {
    const before = BigInt(text)
    if (before > MAX_INT64) throw new InvalidArgumentError(`It is beyond ${MAX_INT64}.`)
    return { by: text.length >= TIME_DIGITS ? 'time' : 'height', before }
  }
  const before = parseRfc3339(text)
  if (before === null) {
    throw new InvalidArgumentError(
      'It must be a time such as 2026-01-31T00:00:00Z, one in Unix nanoseconds (16 digits or more), the height of a block, or an age such as 90d (h, d, w).',
    )
  }
  return { by: 'time', before }
}

/** `block 12` or `2026-01-31T00:00:00Z`. */
export function describeBound({ by, before }: PruneBound): string {
  return by === 'height' ? `block ${before}` : formatTime(before)
}
