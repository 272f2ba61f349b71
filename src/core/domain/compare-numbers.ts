const NUMBER_PARTS = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/**
 * Compares stored decimal numbers (events/left-out.ts) exactly: negative if `a` is less than `b`, positive if it is
 * greater, 0 if they are equal. Exponents may be of any size; numbers are never expanded. Other texts count as 0.
 */
export function compareNumbers(a: string, b: string): number {
  if (a === b) return 0
  if (isPositiveInteger(a) && isPositiveInteger(b))
    return a.length === b.length ? (a < b ? -1 : 1) : a.length - b.length
  const [x, y] = [numberParts(a), numberParts(b)]
  if (x.sign !== y.sign) return x.sign - y.sign
  if (x.sign === 0) return 0
  if (x.exponent !== y.exponent) return x.exponent < y.exponent ? -x.sign : x.sign
  const width = Math.max(x.digits.length, y.digits.length)
  const [left, right] = [x.digits.padEnd(width, '0'), y.digits.padEnd(width, '0')]
  return left === right ? 0 : left < right ? -x.sign : x.sign
}

const DIGIT_0 = 0x30

/** Whether a text is a whole number of 1 or more without sign, as prices mostly are. */
function isPositiveInteger(text: string): boolean {
  return text.charCodeAt(0) !== DIGIT_0 && isDigits(text)
}

/** Whether a text is one digit or more, and nothing else. */
export function isDigits(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - DIGIT_0
    if (digit < 0 || digit > 9) return false
  }
  return text.length > 0
}

/** A number as 0.DIGITS times 10 to the power of the exponent; the first digit is not 0, or there is none. */
type Parts = { sign: -1 | 0 | 1; exponent: bigint; digits: string }

const ZERO_PARTS: Parts = { sign: 0, exponent: 0n, digits: '' }

function numberParts(text: string): Parts {
  const match = NUMBER_PARTS.exec(text)
  if (match === null) return ZERO_PARTS
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const all = whole + fraction
  const digits = all.replace(/^0+/, '')
  if (digits === '') return ZERO_PARTS
  const zeros = all.length - digits.length
  return { sign: sign === '-' ? -1 : 1, exponent: BigInt(exponent) + BigInt(whole.length - zeros), digits }
}
