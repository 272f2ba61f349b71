import { InvalidArgumentError } from 'commander'
import { formatTime, readTime } from '#core/domain/time'
import { StoreError } from '#core/store/errors'
import type { StoreHead } from '#core/store/pages/page'
import type { PruneBound } from '#core/store/pruning/prune-bound'
import { readStoreHead } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import type { Store } from '#core/store/store'

/** Not a time: times since 1970-01-12 have at least 16 digits. Such a number is a height, or a mistake. */
const FEW_DIGITS = /^\d{1,15}$/

/** A time on the command line: Unix nanoseconds, or an age in nanoseconds before the last block. */
export type GivenTime = { by: 'time'; before: bigint } | { by: 'age'; age: bigint }

/** The same, or the height of a block. */
export type GivenBound = GivenTime | PruneBound

const ALLOWED =
  'a date (2026-01-31), a time with a zone (2026-01-31T12:00:00Z), Unix nanoseconds, an age before the last block (36h, 90d, 2w)'

/** Parses a time: a date, RFC 3339, Unix nanoseconds, or an age. Refuses seconds, and ages without a unit. */
export function parseTime(text: string): GivenTime {
  if (FEW_DIGITS.test(text))
    throw new InvalidArgumentError(`It has too few digits for Unix nanoseconds. Allowed: ${ALLOWED}.`)
  return timeOf(text, ALLOWED)
}

function timeOf(text: string, allowed: string): GivenTime {
  const read = readTime(text)
  if ('fault' in read) throw new InvalidArgumentError(`${read.fault} Allowed: ${allowed}.`)
  return 'age' in read ? { by: 'age', age: read.age } : { by: 'time', before: read.time }
}

/**
 * The last block of a store, from which ages are counted back.
 *
 * @param purpose what is impossible without a block, for the message
 *
 * @throws {StoreError} for an empty store
 */
export async function lastBlockOf(store: Store, purpose: string): Promise<StoreHead> {
  const storeHead = await readStore(store, readStoreHead)
  if (storeHead !== null) return storeHead
  throw new StoreError(`${store.name}: the store is empty; there is nothing to ${purpose}`)
}

/** Parses an age such as `36h`, `90d` or `12w`; in nanoseconds. */
export function parseAge(text: string): bigint {
  const read = readTime(text)
  if ('age' in read) return read.age
  throw new InvalidArgumentError('It must be a number of hours, days or weeks, such as 36h, 90d or 12w.')
}

/** Parses a bound for old rows: a time, or the height of a block. */
export function parseBound(text: string): GivenBound {
  if (FEW_DIGITS.test(text)) return { by: 'height', before: BigInt(text) }
  const allowed = `${ALLOWED}, the height of a block`
  if (text.startsWith('-')) throw new InvalidArgumentError(`It is below 0. Allowed: ${allowed}.`)
  return timeOf(text, allowed)
}

/** `block 12` or `2026-01-31T00:00:00Z`. */
export function describeBound({ by, before }: PruneBound): string {
  return by === 'height' ? `block ${before}` : formatTime(before)
}
