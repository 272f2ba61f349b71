/** An exact decimal number: `digits` divided by 10 to the power of `scale`. */
export type Decimal = { readonly digits: bigint; readonly scale: number }

/**
 * A decimal number as the core, or another program, writes it. Linear time: no digit can match two parts of the
 * expression.
 */
export const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

/** Digits after the point of a quotient. */
export const QUOTIENT_SCALE = 16

/** Longer numbers and larger exponents are refused, because their digits would fill memory. */
const MAX_LENGTH = 256

const NUMBER = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,4}))?$/

export const ZERO: Decimal = { digits: 0n, scale: 0 }
export const ONE: Decimal = { digits: 1n, scale: 0 }

/** An integer as a decimal. */
export function ofInteger(digits: bigint): Decimal {
  return { digits, scale: 0 }
}

/** The decimal in a text; null if it is not a number, or too large to calculate with. */
export function parseDecimal(text: string): Decimal | null {
  const match = text.length > MAX_LENGTH ? null : NUMBER.exec(text)
  if (match === null) return null
  const [, sign, whole = '', fraction = match[4] ?? '', , exponentText = '0'] = match
  const exponent = Number(exponentText)
  if (Math.abs(exponent) > MAX_LENGTH) return null
  const magnitude = BigInt(whole + fraction)
  const digits = sign === '-' ? -magnitude : magnitude
  const scale = fraction.length - exponent
  return scale < 0 ? ofInteger(digits * 10n ** BigInt(-scale)) : { digits, scale }
}

/** The decimal in a text that {@link textOfDecimal} has written, of any length. */
export function decimalOfText(text: string): Decimal {
  const [whole, fraction = ''] = text.split('.')
  return { digits: BigInt(whole! + fraction), scale: fraction.length }
}

/** The exact sum. */
export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return { digits: digitsAtScale(a, scale) + digitsAtScale(b, scale), scale }
}

/** The exact difference. */
export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, { digits: -b.digits, scale: b.scale })
}

/** The exact product, with the digits of both factors: repeated products grow without bound. */
export function multiply(a: Decimal, b: Decimal): Decimal {
  return { digits: a.digits * b.digits, scale: a.scale + b.scale }
}

/** `a` divided by `b`, which is not 0, rounded half away from zero to {@link QUOTIENT_SCALE} digits after the point. */
export function divide(a: Decimal, b: Decimal): Decimal {
  const shift = b.scale + QUOTIENT_SCALE
  const dividend = magnitude(a.digits) * 10n ** BigInt(shift)
  const divisor = magnitude(b.digits) * 10n ** BigInt(a.scale)
  const quotient = (2n * dividend + divisor) / (2n * divisor)
  const isNegative = a.digits < 0n !== b.digits < 0n
  return { digits: isNegative ? -quotient : quotient, scale: QUOTIENT_SCALE }
}

/** Below 0 if `a` is less than `b`, above 0 if it is more, 0 if they are equal. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const { digits } = subtract(a, b)
  return digits < 0n ? -1 : digits > 0n ? 1 : 0
}

/** The integer part. */
export function truncate({ digits, scale }: Decimal): bigint {
  return digits / 10n ** BigInt(scale)
}

/** The decimal as text: no exponent, no plus sign, no zeros at the end of the digits after the point. */
export function textOfDecimal({ digits, scale }: Decimal): string {
  const text = magnitude(digits)
    .toString()
    .padStart(scale + 1, '0')
  const whole = text.slice(0, text.length - scale)
  const fraction = text.slice(text.length - scale).replace(/0+$/, '')
  const unsigned = fraction === '' ? whole : `${whole}.${fraction}`
  return digits < 0n ? `-${unsigned}` : unsigned
}

function digitsAtScale({ digits, scale }: Decimal, wanted: number): bigint {
  return wanted === scale ? digits : digits * 10n ** BigInt(wanted - scale)
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}
