import type { EventPosition } from '#core/domain/event-position'
import type { FundingPeriodEvent, PerpetualData } from '#core/events/event'
import { isStorableNumber } from '#core/events/left-out'
import { timeOutsideAuctions } from '#core/funding/auctions'
import { estimateFromTwaps } from '#core/funding/estimate'
import type { CurrentPeriod } from '#core/funding/market-verifier'
import { type FundingTerms, fundingPayment, fundingTerms } from '#core/funding/payment'
import { wholeSecond } from '#core/funding/whole-second'
import type { UnknownInputs } from './judgements.ts'
import type { ParameterSource } from './parameters.ts'
import type { FundingDifference, FundingUnknownReason, FundingValue, Tally } from './tally.ts'

type FundingRunOptions = {
  marketId: string
  tally: Tally
  parametersOf: ParameterSource
}

/** The current terms, which may be there although they are unknown: an event that changed them may be missing. */
type Terms = { terms: FundingTerms | null; unknownTerms: FundingUnknownReason | null }

/**
 * Judges the payments and estimates of one market. A payment is recalculated from the TWAPs of the event that ends the
 * period, so that a wrong TWAP is not reported twice. An estimate is recalculated from the period's points. The methods
 * must be called in the order of the stream, and do not throw.
 */
export class FundingRun {
  readonly #marketId: string
  readonly #tally: Tally
  readonly #parametersOf: ParameterSource

  constructor({ marketId, tally, parametersOf }: FundingRunOptions) {
    this.#marketId = marketId
    this.#tally = tally
    this.#parametersOf = parametersOf
  }

  /**
   * Judges the payment and rate of a period that has ended.
   *
   * @param period its state; null if its beginning was not seen
   */
  closed(
    event: FundingPeriodEvent,
    position: EventPosition,
    period: CurrentPeriod | null,
    inputs: UnknownInputs,
  ): void {
    const end = event.end!
    const isPaid = end > event.start && event.internalTwap !== null && event.externalTwap !== null
    if (!isPaid && event.fundingPayment === null && event.fundingRate === null) return
    const { terms, unknownTerms } = this.#termsAt(position)
    let values: FundingValue[] | null = null
    let unknown: FundingUnknownReason | null = inputs.auctions ?? unknownTerms
    if (period === null || period.seq !== event.seq) {
      unknown = inputs.beginning
    } else if (terms !== null || !isPaid) {
      const expected = isPaid && terms !== null ? payment(event, period, terms) : NO_PAYMENT
      if (expected === null) unknown = 'not a number'
      else values = compared(event, expected)
    }
    this.#add('paid period', { seq: event.seq, timestamp: end, position, unknown }, values)
  }

  /**
   * Judges an estimate that the core sent in a block with this time (Unix nanoseconds). The arguments are as for {@link
   * closed}.
   */
  estimated(
    data: PerpetualData,
    { blockTime, position }: { blockTime: bigint; position: EventPosition },
    period: CurrentPeriod | null,
    inputs: UnknownInputs,
  ): void {
    const { fundingPayment, fundingRate, internalTwap, externalTwap, seq, start } = data
    const texts = [fundingPayment, fundingRate, internalTwap, externalTwap].filter((text) => text !== null)
    if (texts.length === 0) return
    if (!texts.every(isStorableNumber)) {
      this.unreadable(position, blockTime, period)
      return
    }
    const { terms, unknownTerms } = this.#termsAt(position)
    const at = wholeSecond(blockTime)
    let values: FundingValue[] | null = null
    if (period !== null && terms !== null) {
      const twaps = { internalTwap: period.internal.meanAt(at), externalTwap: period.external.meanAt(at) }
      const estimate = estimateFromTwaps(period, twaps, at, terms)
      values = [
        { name: 'seq', sent: seq.toString(), expected: period.seq.toString() },
        { name: 'start', sent: start.toString(), expected: period.start.toString() },
        { name: 'internalTwap', sent: internalTwap, expected: twaps.internalTwap?.toString() ?? null },
        { name: 'externalTwap', sent: externalTwap, expected: twaps.externalTwap?.toString() ?? null },
        ...compared(data, estimate ?? NO_PAYMENT),
      ]
    }
    const [external, internal] = inputs.points
    const unknown =
      period === null ? inputs.beginning : (external ?? internal ?? inputs.auctions ?? unknownTerms)
    this.#add('estimate', { seq, timestamp: at, position, unknown }, values)
  }

  /** Counts an unknown estimate, because the period's part of market data cannot be decoded, or has invalid numbers. */
  unreadable(position: EventPosition, blockTime: bigint, period: CurrentPeriod | null): void {
    const timestamp = wholeSecond(blockTime)
    this.#add('estimate', { seq: period?.seq ?? 0n, timestamp, position, unknown: 'not a number' }, null)
  }

  /** @param values null if there is nothing to compare with; `unknown` then says why */
  #add(
    of: FundingDifference['of'],
    at: { seq: bigint; timestamp: bigint; position: EventPosition; unknown: FundingUnknownReason | null },
    values: FundingValue[] | null,
  ): void {
    const differing = values?.filter(({ sent, expected }) => sent !== expected) ?? null
    this.#tally.funding.add({
      ...at,
      kind: of === 'estimate' ? 'estimates' : 'paidPeriods',
      marketId: this.#marketId,
      agrees: differing === null ? null : differing.length === 0,
      group: of,
      difference: () => ({ of, values: differing! }),
    })
  }

  #termsAt(position: EventPosition): Terms {
    const latest = this.#parametersOf(this.#marketId, position)
    if (latest === null) return { terms: null, unknownTerms: 'parameters unknown' }
    const terms = fundingTerms(latest.parameters)
    if (terms === null) return { terms, unknownTerms: 'not a number' }
    return { terms, unknownTerms: latest.mayHaveChanged ? 'parameters may have changed' : null }
  }
}

type Paid = { fundingPayment: string | null; fundingRate: string | null }

/** The values of a period without payment. */
const NO_PAYMENT: Paid = { fundingPayment: null, fundingRate: null }

/** Payment and rate, from the TWAPs in the event; null if these are not whole numbers. */
function payment(
  { internalTwap, externalTwap, start, end }: FundingPeriodEvent,
  { auctions }: CurrentPeriod,
  terms: FundingTerms,
): Paid | null {
  if (!isDigitText(internalTwap!) || !isDigitText(externalTwap!)) return null
  return fundingPayment(
    {
      internalTwap: BigInt(internalTwap!),
      externalTwap: BigInt(externalTwap!),
      start,
      end: end!,
      timeInAuctions: end! - start - timeOutsideAuctions(auctions, start, end!),
    },
    terms,
  )
}

function compared(sent: Paid, expected: Paid): FundingValue[] {
  return [
    { name: 'fundingPayment', sent: sent.fundingPayment, expected: expected.fundingPayment },
    { name: 'fundingRate', sent: sent.fundingRate, expected: expected.fundingRate },
  ]
}

function isDigitText(text: string): boolean {
  return /^\d+$/.test(text)
}
