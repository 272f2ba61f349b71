import { DECIMAL } from './decimal.ts'

/** The beginning of a formula: a sign, full-width too, after characters that a spreadsheet skips. */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/

/**
 * A text that a spreadsheet would run gets an apostrophe in front, which makes it a text there. Numbers do not change,
 * negative ones neither.
 */
export function withoutFormula(text: string): string {
  return FORMULA.test(text) && !text.split(',').every((part) => DECIMAL.test(part)) ? `'${text}` : text
}
