import type { SOURCES } from '#core/resources/funding-period-data-points/description'
import { StoreError } from '#core/store/errors'
import {
  type DifferencePosition,
  type JudgedReport,
  Judgements,
  type UnknownReason,
  type VerifyFilter,
} from './judgements.ts'

/** The kinds of TWAPs in the report. Closing TWAPs of periods of zero length are counted separately. */
export const TWAPS = {
  dataPoints: 'data point',
  closingTwaps: 'closing TWAP',
  openingTwaps: 'opening TWAP',
  closingTwapsOfNoLength: 'closing TWAP',
} as const

export type TwapKind = keyof typeof TWAPS

/** The first differing TWAP of a market, a period and a source. */
export type TwapDifference = DifferencePosition & {
  source: (typeof SOURCES)[number]
  of: (typeof TWAPS)[TwapKind]
  sent: string | null
  expected: string | null
  /** A likely cause, in words. */
  cause: string
  /** Number of TWAPs of the same period and source that agreed before. */
  agreedBefore: number
  /** Number of further TWAPs of the same period and source that differ. */
  further: number
}

/** Why a payment or an estimate is unknown. */
export type FundingUnknownReason =
  | UnknownReason
  | 'parameters unknown'
  | 'parameters may have changed'
  | 'not a number'

/** A value as it was sent, and as it should be; null if there is none. */
export type FundingValue = { name: string; sent: string | null; expected: string | null }

/**
 * The first difference of a kind in a market's period, at the end of the period, or at the second of an estimate's block.
 */
export type FundingDifference = DifferencePosition & {
  of: 'paid period' | 'estimate' | 'payments of parties'
  /** The values that differ. */
  values: FundingValue[]
  /** Number of further values of the same kind, market and period that differ. */
  further: number
}

/**
 * What the report counts for funding. A period with a payment and a rate agrees if both do. An estimate, which the core
 * sends in market data, agrees if period, TWAPs, payment and rate all do. The payments of a period's parties agree if they
 * add up.
 */
const FUNDING = ['paidPeriods', 'estimates', 'partyPayments'] as const

export type FundingReport = JudgedReport<(typeof FUNDING)[number], FundingUnknownReason, FundingDifference>

/** The results of a verification. Payments, rates and estimates have their own list of differences. */
export type VerifyReport = { markets: number } & JudgedReport<TwapKind, UnknownReason, TwapDifference> & {
    funding: FundingReport
  }

/** Called from time to time with the result so far. */
export type VerifyProgress = (report: VerifyReport) => void

/** The error for a prefix that several market ids have. */
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
