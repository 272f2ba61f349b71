import type { Place } from '../domain/place.ts'
import type { Counts, UnknownReason, VerifyFilter } from './counts.ts'

/** The value checked: the payment of an ended period, or the core's estimate of a current one. */
export type FundingKind = 'paid period' | 'estimate'

/** Why nothing can be said of a payment or an estimate. */
export type FundingUnknownReason =
  | UnknownReason
  | 'parameters not known'
  | 'parameters may have changed'
  | 'not a number'

/** A value as it was sent, and as it should have been; null if there is none. */
export type FundingValue = { name: string; sent: string | null; expected: string | null }

/** The first of a kind that differs, of a market and a period. Numbers of 64 bits are text. */
export type FundingDifference = {
  marketId: string
  seq: string
  of: FundingKind
  /** The period's end, or the second of the block of an estimate; Unix nanoseconds. */
  timestamp: string
  height: string
  eventIndex: number
  /** The values that differ. */
  values: FundingValue[]
  /** Further ones of the same kind, market and period that differ. */
  further: number
}

/** Results for payments, rates and estimates. */
export type FundingReport = {
  /** Periods with a payment and a rate: they agree if both do. */
  paidPeriods: Counts
  /** The core's own estimates in market data: they agree where period, TWAPs, payment and rate all do. */
  estimates: Counts
  unknownReasons: Partial<Record<FundingUnknownReason, number>>
  /** The first of each kind, market and period, up to a limit. */
  differences: FundingDifference[]
  /** How many there are, those beyond the limit with them. */
  differenceCount: number
}

/** A payment or an estimate that has been judged. */
export type FundingJudgement = {
  of: FundingKind
  marketId: string
  seq: bigint
  timestamp: bigint
  place: Place
  /** Null if nothing is known to compare with. */
  values: FundingValue[] | null
  /** Why a value that is not as expected may still be right; where `values` is null, why there are none. */
  doubt: FundingUnknownReason | null
}

/** Differences that are reported one by one. */
const MAX_REPORTED = 1_000

type PeriodState = { seq: bigint; first: Partial<Record<FundingKind, FundingDifference>> }

/** Counts judgements of payments and estimates, and keeps the first that differs of each kind, market and period. */
export class FundingTally {
  readonly report: FundingReport = {
    paidPeriods: { agree: 0, differ: 0, unknown: 0 },
    estimates: { agree: 0, differ: 0, unknown: 0 },
    unknownReasons: {},
    differences: [],
    differenceCount: 0,
  }
  readonly #filter: VerifyFilter
  readonly #periods = new Map<string, PeriodState>()

  constructor(filter: VerifyFilter) {
    this.#filter = filter
  }

  add(judgement: FundingJudgement): void {
    const { of, seq, values, doubt } = judgement
    if (this.#filter.seq !== null && this.#filter.seq !== seq) return
    const counts = of === 'estimate' ? this.report.estimates : this.report.paidPeriods
    const differing = values?.filter(({ sent, expected }) => sent !== expected) ?? []
    if (values !== null && differing.length === 0) {
      counts.agree++
    } else if (values === null || doubt !== null) {
      counts.unknown++
      const reason = doubt ?? 'events missing'
      this.report.unknownReasons[reason] = (this.report.unknownReasons[reason] ?? 0) + 1
    } else {
      counts.differ++
      this.#addDifference(judgement, differing)
    }
  }

  #addDifference({ of, marketId, seq, timestamp, place }: FundingJudgement, values: FundingValue[]): void {
    let period = this.#periods.get(marketId)
    if (period?.seq !== seq) {
      period = { seq, first: {} }
      this.#periods.set(marketId, period)
    }
    const first = period.first[of]
    if (first !== undefined) {
      first.further++
      return
    }
    const difference: FundingDifference = {
      marketId,
      seq: seq.toString(),
      of,
      timestamp: timestamp.toString(),
      height: place.height.toString(),
      eventIndex: place.index,
      values,
      further: 0,
    }
    period.first[of] = difference
    this.report.differenceCount++
    if (this.report.differences.length < MAX_REPORTED) this.report.differences.push(difference)
  }
}
