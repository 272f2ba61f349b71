/** A decimal number as the API writes it, or a whole one. */
export type Numeric = string | bigint

/** An exact decimal number: `digits` divided by 10 to the power of `scale`. */
type Exact = { digits: bigint; scale: number }

const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/

/** Digits after the point of a quotient, as the network has them. */
const PLACES = 16

const HOUR = 3_600_000_000_000n

/** Hours of the 365 days that rates are annualised by. */
const YEAR_HOURS = 8_760

/** `a` + `b`, exact. */
export function addDecimals(a: Numeric, b: Numeric): string {
  return textOf(sum(read(a), read(b)))
}

/** `a` - `b`, exact. */
export function subtractDecimals(a: Numeric, b: Numeric): string {
  return textOf(sum(read(a), negated(read(b))))
}

/** `a` times `b`, exact. */
export function multiplyDecimals(a: Numeric, b: Numeric): string {
  return textOf(product(read(a), read(b)))
}

/**
 * `a` divided by `b`, rounded half away from zero to so many digits after the point.
 *
 * @throws {RangeError} if `b` is 0.
 */
export function divideDecimals(a: Numeric, b: Numeric, places = PLACES): string {
  return textOf(quotient(read(a), read(b), places))
}

/** Below 0, 0 or above 0 as `a` is less than, equal to or greater than `b`: for sorting too. */
export function compareDecimals(a: Numeric, b: Numeric): number {
  const { digits } = sum(read(a), negated(read(b)))
  return digits < 0n ? -1 : digits > 0n ? 1 : 0
}

/** A number of an asset's smallest units as whole units: `2947093000` with 5 decimals is `29470.93`. */
export function toWholeUnits(amount: Numeric, decimals: Numeric | number): string {
  return textOf(product(read(amount), { digits: 1n, scale: Number(decimals) }))
}

/** The same the other way round: `29470.93` with 5 decimals is `2947093000`. */
export function toSmallestUnits(amount: Numeric, decimals: Numeric | number): string {
  return textOf(product(read(amount), { digits: 10n ** BigInt(decimals), scale: 0 }))
}

/** Start and end of a funding period, Unix nanoseconds, as in its row. */
export type Lasted = { start: Numeric; end?: Numeric | undefined }

/**
 * Converts a funding period's rate to a number of hours, to 16 decimal places: `rateOver(rate, period, 8)`.
 *
 * @throws {RangeError} for a period without an end, or of zero length.
 */
export function rateOver(rate: Numeric, { start, end }: Lasted, hours: number): string {
  const length = end === undefined ? 0n : BigInt(end) - BigInt(start)
  if (length <= 0n)
    throw new RangeError('a rate is that of a period of some length: it needs an end after its start')
  const wanted = product(read(String(hours)), { digits: HOUR, scale: 0 })
  return textOf(quotient(product(read(rate), wanted), { digits: length, scale: 0 }, PLACES))
}

/** Converts a funding period's rate to 365 days; see {@link rateOver}. */
export function annualised(rate: Numeric, period: Lasted): string {
  return rateOver(rate, period, YEAR_HOURS)
}

function read(value: Numeric): Exact {
  if (typeof value === 'bigint') return { digits: value, scale: 0 }
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(value) ?? []
  if (whole + fraction === '') throw new TypeError(`${JSON.stringify(value)} is not a decimal number`)
  const digits = BigInt(`${whole}${fraction}`)
  const scale = fraction.length - Number(exponent)
  const signed = sign === '-' ? -digits : digits
  return scale < 0 ? { digits: signed * 10n ** BigInt(-scale), scale: 0 } : { digits: signed, scale }
}

function sum(a: Exact, b: Exact): Exact {
  const scale = Math.max(a.scale, b.scale)
  return { digits: digitsAt(a, scale) + digitsAt(b, scale), scale }
}

const negated = ({ digits, scale }: Exact): Exact => ({ digits: -digits, scale })

const product = (a: Exact, b: Exact): Exact => ({ digits: a.digits * b.digits, scale: a.scale + b.scale })

function quotient(a: Exact, b: Exact, places: number): Exact {
  if (b.digits === 0n) throw new RangeError('a number divided by 0')
  const dividend = 2n * absolute(a.digits) * 10n ** BigInt(b.scale + places)
  const divisor = absolute(b.digits) * 10n ** BigInt(a.scale)
  const digits = (dividend + divisor) / (2n * divisor)
  return { digits: a.digits < 0n === b.digits < 0n ? digits : -digits, scale: places }
}

const digitsAt = ({ digits, scale }: Exact, wanted: number): bigint => digits * 10n ** BigInt(wanted - scale)

const absolute = (value: bigint): bigint => (value < 0n ? -value : value)

/** A number without exponent, plus sign, or zeros at the end of the digits after the point. */
function textOf({ digits, scale }: Exact): string {
  const text = absolute(digits)
    .toString()
    .padStart(scale + 1, '0')
  const whole = text.slice(0, text.length - scale)
  const fraction = text.slice(text.length - scale).replace(/0+$/, '')
  return `${digits < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}
