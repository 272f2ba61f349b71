import {
  compare,
  type Decimal,
  digitsAt,
  parseDecimal,
  ratio,
  roundVisibly,
  subtract,
  trimZeros,
  writeDecimal,
} from './decimal.ts'

/** A number's text with its whole part in groups of three, every digit kept; other text as it is. */
export function groupDigits(text: string): string {
  const match = /^([+-]?)(\d+)(\.\d+)?$/.exec(text)
  if (match === null) return text
  const [, sign, whole, fraction = ''] = match
  return `${sign}${inThrees(whole!)}${fraction}`
}

/** Digits with a comma before each group of three, in time linear in their number. */
function inThrees(digits: string): string {
  const groups = [digits.slice(0, digits.length % 3 || 3)]
  for (let at = groups[0]!.length; at < digits.length; at += 3) groups.push(digits.slice(at, at + 3))
  return groups.join(',')
}

/** As {@link groupDigits}, with a sign in front of positive numbers too. */
export function groupSigned(number: Decimal): string {
  return (number.digits > 0n ? '+' : '') + groupDigits(writeDecimal(number))
}

/** A fraction such as `0.0466666` as a percentage, every digit kept: `4.66666 %`; other text as it is. */
export function formatPercent(text: string): string {
  const fraction = parseDecimal(text)
  return fraction === null ? text : `${groupDigits(trimZeros(writeDecimal(inHundredths(fraction))))} %`
}

/**
 * A fraction as a percentage of so many places, rounded half away from zero, and signed: `-3.5860 %`. A small one keeps
 * two digits: `+0.000026 %`.
 */
export function formatRate(fraction: Decimal, places: number): string {
  const { digits, scale } = roundVisibly(inHundredths(fraction), places)
  const shown = Math.max(scale, places)
  return `${groupSigned({ digits: digitsAt({ digits, scale }, shown), scale: shown })} %`
}

/** Decimal places of a part of one in percent: a small one needs more, because a penalty of 0.006 is not none. */
const PART_PLACES = 2
const SMALL_PART_PLACES = 4

/** A part of one as a percentage that is read at a glance: `4.67 %`, or `0.0467 %` if it is small; other text as it is. */
export function formatPart(text: string): string {
  const number = parseDecimal(text)
  if (number === null) return text
  const isSmall = compare(number, { digits: 1n, scale: 2 }) < 0
  return formatPercent(writeDecimal(roundVisibly(number, 2 + (isSmall ? SMALL_PART_PLACES : PART_PLACES))))
}

function inHundredths({ digits, scale }: Decimal): Decimal {
  return scale >= 2 ? { digits, scale: scale - 2 } : { digits: digits * 10n ** BigInt(2 - scale), scale: 0 }
}

/** `left - right` in hundredths of a percent of `right`, cut to two places; null if there is none. */
export function formatBasisPoints(left: string, right: string): string | null {
  const [a, b] = [parseDecimal(left), parseDecimal(right)]
  if (a === null || b === null) return null
  const points = ratio(subtract(a, b), b, 4, 2)
  return points === null ? null : `${groupSigned(points)} bp`
}

/** Decimal places of a rate, and of an annualised one, in percent. */
export const RATE_PLACES = 4
export const ANNUAL_PLACES = 2
