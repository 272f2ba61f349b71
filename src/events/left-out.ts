/** Why an event, or an element of one of its lists, is left out (docs/events.md, events that are not as they should be). */
export type LeftOutReason =
  | 'invalid market ID'
  | 'invalid party ID'
  | 'unknown source'
  | 'unknown provision status'
  | 'seq of 2^63 or more'
  | 'height of 2^63 or more'
  | 'price is no decimal number'
  | 'twap is no decimal number'
  | 'text that cannot be kept'

/** Is told of everything that is left out. */
export type LeftOutSink = (reason: LeftOutReason) => void

/** PostgreSQL's texts hold no NUL; both stores keep the same. */
export function isStorable(text: string): boolean {
  return !text.includes('\0')
}
