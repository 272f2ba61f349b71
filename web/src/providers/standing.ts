import type {
  LiquidityProviderEpoch,
  LiquidityProviderSla,
  ProviderStanding,
  SlaParameters,
} from 'lyra-client'
import { feePenalty } from '../../../src/core/domain/fee-penalty.ts'
import { SECOND } from '../../../src/core/domain/time.ts'
import {
  add,
  compare,
  type Decimal,
  multiply,
  ONE,
  parseDecimal,
  ratio,
  subtract,
  writeDecimal,
} from '../figures/decimal.ts'
import { formatPart, formatPercent } from '../figures/format-figure.ts'
import { formatAge } from '../figures/format-time.ts'
import { penaltyTermsOf } from './epochs.ts'

/** What a provider must still do to reach the minimum; spans are Unix nanoseconds. */
export type Needed =
  | { state: 'reached' }
  | { state: 'out of reach'; remaining: bigint }
  | { state: 'possible'; time: bigint; remaining: bigint }

/** Null if it is not known. */
export function neededOf({ stillNeeded, epochExpectedEnd, at }: ProviderStanding): Needed | null {
  const part = parseDecimal(stillNeeded ?? '')
  if (part === null || epochExpectedEnd === null || at === null) return null
  const remaining = BigInt(epochExpectedEnd) - BigInt(at)
  if (part.digits === 0n) return { state: 'reached' }
  if (compare(part, ONE) > 0) return { state: 'out of reach', remaining }
  const span: Decimal = { digits: remaining, scale: 0 }
  const time = ratio(multiply(part, span), ONE, 0, 0)!.digits
  return { state: 'possible', time, remaining }
}

/** A span in its two greatest units, rounded up: a provider that leaves after this time has been on the book for long enough. */
export function formatAtLeast(ns: bigint): string {
  const units = [86_400n, 3_600n, 60n, 1n].map((seconds) => seconds * SECOND)
  const first = units.findIndex((unit) => ns >= unit)
  const smallest = units[first === -1 ? 3 : Math.min(first + 1, 3)]!
  return formatAge(((ns + smallest - 1n) / smallest) * smallest)
}

/**
 * The fee penalty for the epoch if the provider is on the book from now to the end: that of earlier epochs may remain. Null if it
 * is not known.
 */
export function penaltyIfStayed(
  { ifLeft, elapsed }: ProviderStanding,
  own: LiquidityProviderSla | null,
  sla: SlaParameters | null,
): string | null {
  const [left, passed] = [parseDecimal(ifLeft ?? ''), parseDecimal(elapsed ?? '')]
  const terms = sla === null ? null : penaltyTermsOf(sla)
  const texts = own?.hysteresisPeriodFeePenalties ?? null
  const earlier = texts?.flatMap((text) => parseDecimal(text) ?? []) ?? []
  if (left === null || passed === null || terms === null || earlier.length !== texts?.length) return null
  return writeDecimal(feePenalty(add(left, subtract(ONE, passed)), earlier, terms))
}

/**
 * How a provider stands, in a sentence; null if what is still needed is not known.
 *
 * @param ifStayed {@link penaltyIfStayed}
 */
export function describeStanding(standing: ProviderStanding, ifStayed: string | null): string | null {
  const needed = neededOf(standing)
  const { timeOnBook, minimum, stillNeeded, feePenaltyIfLeft } = standing
  if (needed === null || timeOnBook === null || minimum === null) return null
  const least = `the minimum of ${formatPercent(minimum)}`
  const said =
    needed.state === 'reached'
      ? `${least} of the epoch is reached`
      : needed.state === 'out of reach'
        ? `${least} can no longer be reached`
        : `${least} needs ${formatAtLeast(needed.time)} of the remaining ${formatAge(needed.remaining)} (${formatPart(stillNeeded!)})`
  const stayed = ifStayed === null ? '' : `, staying to the end ${formatPart(ifStayed)}`
  const cost =
    feePenaltyIfLeft === null
      ? ''
      : ` Leaving now would cost ${formatPart(feePenaltyIfLeft)} of its fees${stayed}.`
  return `On the book for ${formatPart(timeOnBook)} of the epoch so far; ${said}.${cost}`
}

/** The row of the epoch before the running one; null if it is not the newest. */
export function lastEpochOf(
  { epoch }: ProviderStanding,
  newest: LiquidityProviderEpoch | undefined,
): LiquidityProviderEpoch | null {
  const isLast = epoch !== null && newest !== undefined && BigInt(newest.epoch) + 1n === BigInt(epoch)
  return isLast ? newest : null
}
