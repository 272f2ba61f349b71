import { type Decimal, parseDecimal, ratio, subtract, writeDecimal } from './decimal.ts'

/** A number's text with its whole part in groups of three, every digit kept; other text as it is. */
export function groupDigits(text: string): string {
  const match = /^([+-]?)(\d+)(\.\d+)?$/.exec(text)
  if (match === null) return text
  const [, sign, whole, fraction = ''] = match
  return `${sign}${whole!.replace(/\B(?=(\d{3})+$)/g, ',')}${fraction}`
}

/** As {@link groupDigits}, with a sign in front of positive numbers too. */
export function groupSigned(number: Decimal): string {
  return (number.digits > 0n ? '+' : '') + groupDigits(writeDecimal(number))
}

/** A fraction such as `0.0466666` as a percentage, every digit kept: `4.66666 %`; other text as it is. */
export function formatPercent(text: string): string {
  const fraction = parseDecimal(text)
  if (fraction === null) return text
  const shifted =
    fraction.scale >= 2
      ? { digits: fraction.digits, scale: fraction.scale - 2 }
      : { digits: fraction.digits * 10n ** BigInt(2 - fraction.scale), scale: 0 }
  return `${groupDigits(trimZeros(writeDecimal(shifted)))} %`
}

/** `left - right`, grouped and with its sign; null where one of them is no number. */
export function formatDifference(left: string, right: string): string | null {
  const [a, b] = [parseDecimal(left), parseDecimal(right)]
  return a === null || b === null ? null : groupSigned(subtract(a, b))
}

/** `left - right` in hundredths of a percent of `right`, cut to two places; null where there is none. */
export function formatBasisPoints(left: string, right: string): string | null {
  const [a, b] = [parseDecimal(left), parseDecimal(right)]
  if (a === null || b === null) return null
  const points = ratio(subtract(a, b), b, 4, 2)
  return points === null ? null : `${groupSigned(points)} bp`
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}
