import { InvalidArgumentError } from 'commander'
import { MAX_INT64 } from '../domain/integers.ts'
import { formatTime, parseRfc3339 } from '../domain/time.ts'
import type { PruneBound } from '../store/pruner.ts'

/** Integers of this many digits are times: heights are far below, and times since 1970-01-12 above. */
const TIME_DIGITS = 16

/** What old is, as a command line says it: a time by RFC 3339 or in Unix nanoseconds, or a block's height. */
export function parseBound(text: string): PruneBound {
  if (/^\d+$/.test(text)) {
    const before = BigInt(text)
    if (before > MAX_INT64) throw new InvalidArgumentError(`It is beyond ${MAX_INT64}.`)
    return { by: text.length >= TIME_DIGITS ? 'time' : 'height', before }
  }
  const before = parseRfc3339(text)
  if (before === null) {
    throw new InvalidArgumentError(
      'It must be a time such as 2026-01-31T00:00:00Z, one in Unix nanoseconds (16 digits or more), or the height of a block.',
    )
  }
  return { by: 'time', before }
}

/** `block 12` or `2026-01-31T00:00:00Z`. */
export function describeBound({ by, before }: PruneBound): string {
  return by === 'height' ? `block ${before}` : formatTime(before)
}
