/** Texts that stand in JSON as they are; quotes, backslashes and control characters do not. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes exactly these.
const PLAIN = /^[^"\\\u0000-\u001f\ud800-\udfff]*$/

/** A text as a JSON string. */
export function jsonText(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}
