/** Terminal controls and characters that change the direction of text: both can make one text look like another. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/**
 * Escapes control characters as `\u001b`, line breaks too. Use it for any text from events that goes to a terminal or a
 * log.
 */
export function printable(text: string): string {
  return text.replaceAll(
    CONTROLS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** As {@link printable}, for a text of several lines that are the program's own. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}
