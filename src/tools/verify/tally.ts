import type { SOURCES } from '#core/resources/funding-period-data-points/description'
import { StoreError } from '#core/store/store'
import {
  type DifferencePosition,
  type JudgedReport,
  Judgements,
  type UnknownReason,
  type VerifyFilter,
} from './judgements.ts'

/** The report's kinds of TWAPs; closing ones of periods of zero length are separate. */
export const TWAPS = {
  dataPoints: 'data point',
  closingTwaps: 'closing TWAP',
  openingTwaps: 'opening TWAP',
  closingTwapsOfNoLength: 'closing TWAP',
} as const

export type TwapKind = keyof typeof TWAPS

/** The first TWAP that differs, of a market, a period and a source. */
export type TwapDifference = DifferencePosition & {
  source: (typeof SOURCES)[number]
  of: (typeof TWAPS)[TwapKind]
  sent: string | null
  expected: string | null
  /** A likely cause, in words. */
  cause: string
  /** TWAPs of the same period and source that agreed before. */
  agreedBefore: number
  /** Further ones of the same period and source that differ. */
  further: number
}

/** Why a payment or an estimate is unknown. */
export type FundingUnknownReason =
  | UnknownReason
  | 'parameters not known'
  | 'parameters may have changed'
  | 'not a number'

/** A value as it was sent, and as it should have been; null if there is none. */
export type FundingValue = { name: string; sent: string | null; expected: string | null }

/** The first of a kind that differs, of a market and a period: at the period's end, or the second of an estimate's block. */
export type FundingDifference = DifferencePosition & {
  of: 'paid period' | 'estimate' | 'payments of parties'
  /** The values that differ. */
  values: FundingValue[]
  /** Further ones of the same kind, market and period that differ. */
  further: number
}

/**
 * How the report counts funding: periods with a payment and a rate agree if both do, the core's own estimates in market
 * data where period, TWAPs, payment and rate all do; the payments of a period's parties agree if they add up.
 */
const FUNDING = ['paidPeriods', 'estimates', 'partyPayments'] as const

export type FundingReport = JudgedReport<(typeof FUNDING)[number], FundingUnknownReason, FundingDifference>

/** Results of a verification; those of payments, rates and estimates have their own differences. */
export type VerifyReport = { markets: number } & JudgedReport<TwapKind, UnknownReason, TwapDifference> & {
    funding: FundingReport
  }

/** Called now and then with the result so far. */
export type VerifyProgress = (report: VerifyReport) => void

/** The error for a prefix of several market ids. */
export function severalMarkets(marketId: string, markets: number): StoreError {
  return new StoreError(
    `--market ${marketId} is ambiguous: it matches the ids of ${markets} markets; give more digits`,
  )
}

/** Counts the judgements of a verification. */
export class Tally {
  markets = 0
  readonly twaps: Judgements<TwapKind, UnknownReason, TwapDifference>
  readonly funding: Judgements<(typeof FUNDING)[number], FundingUnknownReason, FundingDifference>

  constructor(filter: VerifyFilter) {
    this.twaps = new Judgements(filter, Object.keys(TWAPS) as TwapKind[])
    this.funding = new Judgements(filter, FUNDING)
  }

  report(): VerifyReport {
    return { markets: this.markets, ...this.twaps.report, funding: this.funding.report }
  }
}
