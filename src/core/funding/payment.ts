import {
  add,
  compareDecimals,
  type Decimal,
  divide,
  multiply,
  ONE,
  ofInteger,
  parseDecimal,
  subtract,
  textOfDecimal,
  truncate,
  ZERO,
} from '../domain/decimal.ts'
import type { FundingParameters } from '../events/event.ts'

/** A market's parameters as numbers; null if it does not set one. */
export type FundingTerms = {
  interestRate: Decimal
  clampLowerBound: Decimal
  clampUpperBound: Decimal
  scalingFactor: Decimal | null
  lowerBound: Decimal | null
  upperBound: Decimal | null
}

/** Inputs of a period's payment. TWAPs are scaled by the asset's decimals; times are Unix nanoseconds. */
export type PeriodFacts = {
  internalTwap: bigint
  externalTwap: bigint
  start: bigint
  end: bigint
  /** Nanoseconds between start and end that were spent in auctions. */
  timeInAuctions: bigint
}

/** The texts of a payment and a rate, as the core sends them. */
export type FundingPayment = { fundingPayment: string; fundingRate: string }

/** 365 days in nanoseconds. */
const YEAR = ofInteger(365n * 24n * 60n * 60n * 1_000_000_000n)

/** Parses the parameters; null if one is not a number. */
export function fundingTerms(parameters: FundingParameters): FundingTerms | null {
  const interestRate = numberOf(parameters.interestRate)
  const clampLowerBound = numberOf(parameters.clampLowerBound)
  const clampUpperBound = numberOf(parameters.clampUpperBound)
  const scalingFactor = optionalNumberOf(parameters.scalingFactor)
  const lowerBound = optionalNumberOf(parameters.lowerBound)
  const upperBound = optionalNumberOf(parameters.upperBound)
  if (interestRate === null || clampLowerBound === null || clampUpperBound === null) return null
  if (scalingFactor === undefined || lowerBound === undefined || upperBound === undefined) return null
  return { interestRate, clampLowerBound, clampUpperBound, scalingFactor, lowerBound, upperBound }
}

/** The payment and rate of a period (docs/funding.md). */
export function fundingPayment(period: PeriodFacts, terms: FundingTerms): FundingPayment {
  const internal = ofInteger(period.internalTwap)
  const external = ofInteger(period.externalTwap)
  let payment = subtract(internal, external)
  if (terms.interestRate.digits !== 0n) payment = add(payment, interest(period, terms))
  const length = period.end - period.start
  if (period.timeInAuctions > 0n && length > 0n) {
    const share = divide(ofInteger(period.timeInAuctions), ofInteger(length))
    payment = multiply(payment, subtract(ONE, share))
  }
  if (terms.scalingFactor !== null) payment = multiply(payment, terms.scalingFactor)
  let rate = period.externalTwap === 0n ? ZERO : divide(payment, external)
  if (terms.upperBound !== null && compareDecimals(rate, terms.upperBound) > 0) {
    rate = terms.upperBound
    payment = multiply(rate, external)
  }
  if (terms.lowerBound !== null && compareDecimals(rate, terms.lowerBound) < 0) {
    rate = terms.lowerBound
    payment = multiply(rate, external)
  }
  return { fundingPayment: truncate(payment).toString(), fundingRate: textOfDecimal(rate) }
}

/** The interest component: interest on the external price minus the internal premium, clamped. */
function interest({ internalTwap, externalTwap, start, end }: PeriodFacts, terms: FundingTerms): Decimal {
  const external = ofInteger(externalTwap)
  const years = divide(ofInteger(end - start), YEAR)
  const grown = multiply(add(ONE, multiply(terms.interestRate, years)), external)
  const unclamped = subtract(grown, ofInteger(internalTwap))
  const lowest = multiply(external, terms.clampLowerBound)
  const highest = multiply(external, terms.clampUpperBound)
  if (compareDecimals(unclamped, lowest) < 0) return lowest
  return compareDecimals(unclamped, highest) > 0 ? highest : unclamped
}

function numberOf(text: string): Decimal | null {
  return text === '' ? ZERO : parseDecimal(text)
}

/** The number; undefined for a text that is not a number. */
function optionalNumberOf(text: string | null): Decimal | null | undefined {
  if (text === null || text === '') return null
  return parseDecimal(text) ?? undefined
}
