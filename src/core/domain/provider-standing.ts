import { compareDecimals, type Decimal, divide, multiply, ofInteger, subtract, ZERO } from './decimal.ts'
import { feePenalty } from './fee-penalty.ts'

/** The running epoch of a market, Unix nanoseconds: `start` <= `at` <= `expectedEnd`. */
export type EpochSoFar = {
  /** Since when the core counts time on book. */
  start: bigint
  at: bigint
  expectedEnd: bigint
}

/** What a provider's figures and its market's terms say, as fractions; null if it is not known. */
type ProviderFigures = {
  /** The part of the epoch until now that the provider was on the book. */
  timeOnBook: Decimal | null
  /** The fee penalties of earlier epochs that still count. */
  earlierPenalties: readonly Decimal[] | null
  /** The part of an epoch that a provider must be on the book. */
  minimum: Decimal | null
  competitionFactor: Decimal | null
}

/** Fractions; null if what they follow from is not known. */
type ProviderStanding = {
  /** The part of the epoch that has passed. */
  elapsed: Decimal | null
  /** The time on book of the whole epoch, if the provider left the book now. */
  ifLeft: Decimal | null
  /** The part of the remaining time that the provider must be on the book to reach the minimum; above 1 if it cannot. */
  stillNeeded: Decimal | null
  /** The fee penalty for the epoch, if the provider left the book now. */
  feePenaltyIfLeft: Decimal | null
}

const UNKNOWN: ProviderStanding = { elapsed: null, ifLeft: null, stillNeeded: null, feePenaltyIfLeft: null }

/**
 * How a provider stands in a running epoch. The core divides the time on book by the real length of the epoch
 * (docs/api.md, standing).
 *
 * @param epoch null if it is not known
 */
export function standingIn(epoch: EpochSoFar | null, figures: ProviderFigures): ProviderStanding {
  if (epoch === null) return UNKNOWN
  const { timeOnBook, earlierPenalties, minimum, competitionFactor } = figures
  const length = ofInteger(epoch.expectedEnd - epoch.start)
  const passed = ofInteger(epoch.at - epoch.start)
  const left = subtract(length, passed)
  const onBook = timeOnBook === null ? null : multiply(timeOnBook, passed)
  const ifLeft = onBook === null ? null : partOf(onBook, length)
  const missing = onBook === null || minimum === null ? null : subtract(multiply(minimum, length), onBook)
  return {
    elapsed: partOf(passed, length),
    ifLeft,
    stillNeeded: missing === null ? null : partOf(compareDecimals(missing, ZERO) < 0 ? ZERO : missing, left),
    feePenaltyIfLeft:
      ifLeft === null || earlierPenalties === null || minimum === null || competitionFactor === null
        ? null
        : feePenalty(ifLeft, earlierPenalties, { minimum, competitionFactor }),
  }
}

function partOf(part: Decimal, whole: Decimal): Decimal | null {
  return whole.digits === 0n ? null : divide(part, whole)
}
