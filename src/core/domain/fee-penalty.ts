import {
  add,
  compareDecimals,
  type Decimal,
  divide,
  multiply,
  ONE,
  ofInteger,
  subtract,
  ZERO,
} from './decimal.ts'

/** The terms of a market's SLA from which fee penalties follow. */
export type PenaltyTerms = {
  /** `commitmentMinTimeFraction`: the part of an epoch that a provider must be on the book. */
  minimum: Decimal
  /** `slaCompetitionFactor`: the penalty of a provider that is on the book for no longer than that. */
  competitionFactor: Decimal
}

/**
 * The part of its fees that the core takes from a provider for an epoch, before any bonus from the penalties of others: the
 * greater of the penalty for the epoch's own time on book, and the mean of earlier penalties.
 *
 * @param timeOnBook the part of the epoch that the provider was on the book
 * @param earlier `hysteresisPeriodFeePenalties` before the epoch ended, in any order: the core writes them into a ring
 */
export function feePenalty(timeOnBook: Decimal, earlier: readonly Decimal[], terms: PenaltyTerms): Decimal {
  const own = ownFeePenalty(timeOnBook, terms)
  const mean = earlier.length === 0 ? ZERO : divide(earlier.reduce(add), ofInteger(BigInt(earlier.length)))
  return compareDecimals(own, mean) < 0 ? mean : own
}

/**
 * The penalty for the time on book of one epoch alone: 1 below the minimum, and from there on a part of the competition
 * factor that falls to 0. It is rounded as the core rounds it.
 */
export function ownFeePenalty(timeOnBook: Decimal, { minimum, competitionFactor }: PenaltyTerms): Decimal {
  const above = subtract(timeOnBook, minimum)
  const most = subtract(ONE, minimum)
  if (above.digits < 0n) return ONE
  // All of a minimum of 1.
  if (most.digits === 0n) return ZERO
  return multiply(subtract(ONE, divide(above, most)), competitionFactor)
}
