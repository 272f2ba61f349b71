import type { Decimal } from '../../../src/core/domain/decimal.ts'

export {
  add,
  compareDecimals as compare,
  type Decimal,
  multiply,
  ONE,
  subtract,
  ZERO,
} from '../../../src/core/domain/decimal.ts'

const DECIMAL = /^([+-]?)(\d+)(?:\.(\d+))?$/

/** Parses a decimal number in the API's format; null if it is invalid. */
export function parseDecimal(text: string): Decimal | null {
  const match = DECIMAL.exec(text)
  if (match === null) return null
  const [, sign, whole, fraction = ''] = match
  const digits = BigInt(`${whole}${fraction}`)
  return { digits: sign === '-' ? -digits : digits, scale: fraction.length }
}

/** `number` times `factor` divided by `divisor`, cut to `scale` places; null if the divisor is zero. */
export function scaleBy(number: Decimal, factor: bigint, divisor: bigint, scale: number): Decimal | null {
  if (divisor === 0n) return null
  const digits = number.digits * factor * 10n ** BigInt(scale)
  return { digits: digits / (divisor * 10n ** BigInt(number.scale)), scale }
}

/** `part` as parts in 10^`power` of `whole`, cut to `scale` places; null if `whole` is zero. */
export function ratio(part: Decimal, whole: Decimal, power: number, scale: number): Decimal | null {
  if (whole.digits === 0n) return null
  const common = Math.max(part.scale, whole.scale)
  const factor = 10n ** BigInt(power + scale)
  return { digits: (digitsAt(part, common) * factor) / digitsAt(whole, common), scale }
}

/** Writes a number in full, without grouping. */
export function writeDecimal({ digits, scale }: Decimal): string {
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0')
  const sign = digits < 0n ? '-' : ''
  return scale === 0 ? sign + text : `${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`
}

/** A number rounded half away from zero to so many places at most. */
export function round(number: Decimal, places: number): Decimal {
  if (number.scale <= places) return number
  const part = 10n ** BigInt(number.scale - places)
  const half = part / 2n
  const { digits } = number
  return { digits: (digits < 0n ? digits - half : digits + half) / part, scale: places }
}

/** As {@link round}, but at least the first two digits are kept. */
export function roundVisibly(number: Decimal, places: number): Decimal {
  const rounded = round(number, places)
  const length = (number.digits < 0n ? -number.digits : number.digits).toString().length
  const twoDigits = number.scale - length + 2
  return number.digits === 0n || places >= twoDigits ? rounded : round(number, twoDigits)
}

/** Removes zeros from the end of a decimal number's text, except in the first places. */
export function trimZeros(text: string, least = 0): string {
  const point = text.indexOf('.')
  if (point === -1) return text
  let end = text.length
  while (end > point + 1 + least && text[end - 1] === '0') end--
  return text.slice(0, end === point + 1 ? point : end)
}

/** The nearest double: for positions on a screen, never for a shown figure. */
export function approximate({ digits, scale }: Decimal): number {
  return Number(writeDecimal({ digits, scale }))
}

/** The digits of a number at so many places, which must be no fewer than it has. */
export function digitsAt({ digits, scale }: Decimal, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - scale)
}
