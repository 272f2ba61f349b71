import type { LiquidityProvider } from 'lyra-client'
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
  ZERO,
} from '../figures/decimal.ts'

/** Decimal places of a fee share; further digits are cut off. */
const PLACES = 18

/** A provider's shares of its market's fees, as fractions; null if unknown. */
export type Fees = {
  /** Its part of all fees: by its equity-like share and its score, before penalties. */
  share: string | null
  /** The part of its fees that the penalty of its last epoch leaves. */
  remaining: string | null
  /** The product of the two. */
  net: string | null
  /**
   * The part of the market's equity-like shares that belongs to parties without a provision, such as AMMs. They may be paid
   * fees, too, so that `share` and `net` are upper bounds; null if there are none.
   */
  others: string | null
}

/** Equity-like shares are rounded: a sum from here on is the whole. */
const WHOLE: Decimal = { digits: 9_999n, scale: 4 }

export type ProviderRow = LiquidityProvider & { fees: Fees }

/**
 * The fees of each provider.
 *
 * @param providers all of each market: their shares have one sum
 */
export function withFees(providers: readonly LiquidityProvider[]): ProviderRow[] {
  const weights = new Map(
    [...Map.groupBy(providers, ({ marketId }) => marketId)].map(([marketId, own]) => [
      marketId,
      weightsOf(own),
    ]),
  )
  return providers.map((provider) => {
    const { weightOf, sum, others } = weights.get(provider.marketId)!
    const weight = weightOf(provider)
    const penalty = parseDecimal(provider.sla?.lastEpochFeePenalty ?? '')
    const remaining = penalty === null ? null : subtract(ONE, penalty)
    return {
      ...provider,
      fees: {
        share: write(ratio(weight, sum, 0, PLACES)),
        remaining: write(remaining),
        net: remaining === null ? null : write(ratio(multiply(weight, remaining), sum, 0, PLACES)),
        others,
      },
    }
  })
}

/** How a market's fees are divided among its providers: by weights, which have a sum; `others` as in {@link Fees}. */
type Weights = {
  weightOf: (provider: LiquidityProvider) => Decimal
  sum: Decimal
  others: string | null
}

function weightsOf(providers: readonly LiquidityProvider[]): Weights {
  const [shares, scores] = [sumOf(providers, equity), sumOf(providers, scored)]
  const hasOthers = shares.digits !== 0n && compare(shares, WHOLE) < 0
  const others = hasOthers ? writeDecimal(subtract(ONE, shares)) : null
  // Without any score the shares alone count.
  return scores.digits !== 0n
    ? { weightOf: scored, sum: scores, others }
    : { weightOf: equity, sum: shares, others }
}

function equity({ feeShare }: LiquidityProvider): Decimal {
  return parseDecimal(feeShare.equityLikeShare) ?? ZERO
}

function scored(provider: LiquidityProvider): Decimal {
  return multiply(equity(provider), parseDecimal(provider.feeShare.averageScore) ?? ZERO)
}

function sumOf(
  providers: readonly LiquidityProvider[],
  of: (provider: LiquidityProvider) => Decimal,
): Decimal {
  return providers.reduce((sum, provider) => add(sum, of(provider)), ZERO)
}

function write(number: Decimal | null): string | null {
  return number === null ? null : writeDecimal(number)
}
