import type { TwapVerdict } from '../funding/market-verifier.ts'
import { SOURCES } from '../resources/funding-period-data-points/description.ts'
import { StoreError } from '../store/store.ts'
import type { Counts, UnknownReason, VerifyFilter } from './counts.ts'
import { type FundingReport, FundingTally } from './funding-tally.ts'

/** The kind of a TWAP: of a data point, or of a period that ends or begins. */
export type TwapKind = 'data point' | 'closing TWAP' | 'opening TWAP'

/** The first TWAP that differs, of a market, a period and a source. Numbers of 64 bits are text. */
export type Difference = {
  marketId: string
  seq: string
  source: (typeof SOURCES)[number]
  of: TwapKind
  /** The point's time, or the one at which the period ends or begins; Unix nanoseconds. */
  timestamp: string
  height: string
  eventIndex: number
  sent: string | null
  expected: string | null
  /** A likely cause, in words. */
  cause: string
  /** TWAPs of the same period and source that agreed before. */
  agreedBefore: number
  /** Further ones of the same period and source that differ. */
  further: number
}

/** A TWAP that has been judged. */
export type Judgement = Pick<Difference, 'marketId' | 'of' | 'cause'> & {
  seq: bigint
  source: 1 | 2
  timestamp: bigint
  height: bigint
  eventIndex: number
  /** Null if nothing is known to compare with. */
  verdict: TwapVerdict | null
  /** Why a TWAP that is not as expected may still be right. */
  doubt: UnknownReason | null
  /** Whether the period begins and ends at the same time. */
  isOfNoLength: boolean
}

/** Results of a verification. */
export type VerifyReport = {
  markets: number
  dataPoints: Counts
  /** Of periods that have a length. */
  closingTwaps: Counts
  openingTwaps: Counts
  /** Closing TWAPs of periods that begin and end at the same time. */
  closingTwapsOfNoLength: Counts
  unknownReasons: Partial<Record<UnknownReason, number>>
  /** The first of each market, period and source, up to a limit. */
  differences: Difference[]
  /** How many there are, those beyond the limit with them. */
  differenceCount: number
  /** Of payments, rates and estimates; it has its own differences. */
  funding: FundingReport
}

/** Called now and then with the result so far. */
export type VerifyProgress = (report: VerifyReport) => void

/** The error for the beginning of a market's id that is that of several. */
export function severalMarkets(marketId: string, markets: number): StoreError {
  return new StoreError(
    `--market ${marketId} is ambiguous: it matches the ids of ${markets} markets; give more digits`,
  )
}

/** Differences that are listed one by one. */
const MAX_TOLD = 1_000

/** A market's period in the making, by source. */
type PeriodState = { seq: bigint; agreed: [number, number]; first: [Difference | null, Difference | null] }

/** Counts judgements, and keeps the first that differs of each market, period and source. */
export class Tally {
  readonly report: VerifyReport
  /** Counts payments and estimates, in the same report. */
  readonly funding: FundingTally
  readonly #filter: VerifyFilter
  readonly #periods = new Map<string, PeriodState>()

  constructor(filter: VerifyFilter) {
    this.#filter = filter
    this.funding = new FundingTally(filter)
    this.report = {
      markets: 0,
      dataPoints: noCounts(),
      closingTwaps: noCounts(),
      openingTwaps: noCounts(),
      closingTwapsOfNoLength: noCounts(),
      unknownReasons: {},
      differences: [],
      differenceCount: 0,
      funding: this.funding.report,
    }
  }

  add(judgement: Judgement): void {
    const { marketId, seq, source, verdict, doubt } = judgement
    if (this.#filter.seq !== null && this.#filter.seq !== seq) return
    const counts = this.#countsOf(judgement)
    const period = this.#periodOf(marketId, seq)
    if (verdict?.agrees) {
      counts.agree++
      period.agreed[source - 1]!++
    } else if (verdict === null || doubt !== null) {
      counts.unknown++
      this.#addReason(doubt ?? 'events missing', 1)
    } else {
      counts.differ++
      this.#addDifference(judgement, verdict, period)
    }
  }

  /** Counts data points of which nothing can be said. */
  addUnknownPoints(seq: bigint, points: number, reason: UnknownReason): void {
    if (points === 0 || (this.#filter.seq !== null && this.#filter.seq !== seq)) return
    this.report.dataPoints.unknown += points
    this.#addReason(reason, points)
  }

  #addReason(reason: UnknownReason, times: number): void {
    this.report.unknownReasons[reason] = (this.report.unknownReasons[reason] ?? 0) + times
  }

  #countsOf({ of, isOfNoLength }: Judgement): Counts {
    switch (of) {
      case 'data point':
        return this.report.dataPoints
      case 'closing TWAP':
        return isOfNoLength ? this.report.closingTwapsOfNoLength : this.report.closingTwaps
      case 'opening TWAP':
        return this.report.openingTwaps
    }
  }

  /** Of each market the last period is remembered: events come in the order of the periods. */
  #periodOf(marketId: string, seq: bigint): PeriodState {
    let period = this.#periods.get(marketId)
    if (period?.seq !== seq) {
      period = { seq, agreed: [0, 0], first: [null, null] }
      this.#periods.set(marketId, period)
    }
    return period
  }

  #addDifference(judgement: Judgement, { sent, expected }: TwapVerdict, period: PeriodState): void {
    const { marketId, seq, source, of, timestamp, height, eventIndex, cause } = judgement
    const first = period.first[source - 1]
    if (first) {
      first.further++
      return
    }
    const difference: Difference = {
      marketId,
      seq: seq.toString(),
      source: SOURCES[source],
      of,
      timestamp: timestamp.toString(),
      height: height.toString(),
      eventIndex,
      sent,
      expected,
      cause,
      agreedBefore: period.agreed[source - 1]!,
      further: 0,
    }
    period.first[source - 1] = difference
    this.report.differenceCount++
    if (this.report.differences.length < MAX_TOLD) this.report.differences.push(difference)
  }
}

function noCounts(): Counts {
  return { agree: 0, differ: 0, unknown: 0 }
}
