import { isDigits } from '../domain/compare-numbers.ts'
import { DECIMAL } from '../domain/decimal.ts'

/** Why an event, or an element of one of its lists, is left out (docs/events.md, invalid events). */
export const LEFT_OUT_REASONS = [
  'invalid market ID',
  'invalid party ID',
  'invalid asset ID',
  'unknown source',
  'unknown provision status',
  'unknown market state',
  'unknown trading mode',
  'unknown asset status',
  'decimal places of 2^63 or more',
  'seq of 2^63 or more',
  'epochs of 2^63 or more',
  'height of 2^63 or more',
  'price is not a decimal number',
  'twap is not a decimal number',
  'number of more than 256 characters',
  'payment or rate is not a decimal number',
  'more than 1,024 penalties in a list',
  'text of more than 1,024 characters',
  'text that cannot be kept',
] as const

export type LeftOutReason = (typeof LEFT_OUT_REASONS)[number]

/** Called with everything that is skipped. */
export type LeftOutSink = (reason: LeftOutReason) => void

/** Maximum length of a stored number: prices, TWAPs, payments, rates, and the quantities of providers. */
export const MAX_NUMBER_LENGTH = 256

/** Maximum length of any other stored text: names, codes, symbols. */
export const MAX_TEXT_LENGTH = 1024

/** Maximum number of elements of a nested list: many times the epochs that a market may set. */
export const MAX_PENALTIES = 1024

/** Whether a text is a decimal number that is short enough to be stored. */
export function isStorableNumber(text: string): boolean {
  return text.length <= MAX_NUMBER_LENGTH && (isDigits(text) || DECIMAL.test(text))
}

/** Whether a text can be stored. PostgreSQL's texts cannot contain NUL, and both databases store the same. */
export function isStorable(text: string): boolean {
  return !text.includes('\0')
}

/**
 * Maximum length of hashes, provision ids and asset ids. They are keys, and a database's index has a limit, far above any
 * real one.
 */
export const MAX_KEY_LENGTH = 256

/** Whether a text can be the key of a row. */
export function isKey(text: string): boolean {
  return text.length <= MAX_KEY_LENGTH && isStorable(text)
}

/** Why a number is left out: because of its length, or `otherwise`. */
export function numberFault(text: string, otherwise: LeftOutReason): LeftOutReason {
  return text.length > MAX_NUMBER_LENGTH ? 'number of more than 256 characters' : otherwise
}

/** The event, or null if there is a reason to leave it out, which `leaveOut` is then called with. */
export function unlessFault<Event>(
  event: Event,
  fault: LeftOutReason | null,
  leaveOut: LeftOutSink,
): Event | null {
  if (fault === null) return event
  leaveOut(fault)
  return null
}
