import { multiply, parseDecimal, subtract, trimZeros, writeDecimal, ZERO } from '../../figures/decimal.ts'

/** A position size that the API accepts. */
const UNITS = /^-?[0-9]{1,38}(\.[0-9]{1,18})?$/

/** A position size, or why it is refused and what to write instead. */
export type ReadUnits = { units: string } | { fault: string }

/** Reads the size of a position as someone typed it. A comma is refused: it is a decimal point to some, and groups digits for others. */
export function readUnits(typed: string): ReadUnits {
  const text = plainNumber(typed.trim())
  if (text.includes(',')) {
    const instead = withoutCommas(text).filter((choice) => UNITS.test(choice))
    return {
      fault: `Write ${instead.length === 0 ? 'a point for decimals' : instead.join(' or ')}, without a comma.`,
    }
  }
  if (!UNITS.test(text)) {
    return { fault: 'Write a decimal number, such as 2.5, or -2.5 for a short position.' }
  }
  if (parseDecimal(text)!.digits === 0n)
    return { fault: 'A position of 0 units has no payments. Write another size.' }
  return { units: text }
}

/** A number as the API takes it: without a plus, with a plain minus, digits on both sides of a point, and without the unit's name. */
function plainNumber(typed: string): string {
  return typed
    .replace(/^[\u2212\u2013]/, '-')
    .replace(/^\+/, '')
    .replace(/(?<=[\d.])\s+[a-z]+$/i, '')
    .replace(/^(-?)(?=\.\d)/, '$10')
    .replace(/(?<=\d)\.$/, '')
}

/** Possible meanings of a number with commas, written without commas. */
function withoutCommas(text: string): string[] {
  const [comma, point] = [text.lastIndexOf(','), text.lastIndexOf('.')]
  const plain = text.replaceAll(',', '')
  if (point > comma) return [plain]
  // As in 1.234,5.
  if (point !== -1) return [text.replaceAll('.', '').replace(',', '.')]
  if (/^-?[1-9]\d{0,2},\d{3}$/.test(text)) return [plain, text.replace(',', '.')]
  return text.indexOf(',') === comma ? [text.replace(',', '.')] : [plain]
}

/** Amount that a position receives if one unit of a long position pays so much; negative if it pays. */
export function receivedBy(units: string, payment: string): string | null {
  const [size, each] = [parseDecimal(units), parseDecimal(payment)]
  if (size === null || each === null) return null
  return trimZeros(writeDecimal(subtract(ZERO, multiply(size, each))))
}
