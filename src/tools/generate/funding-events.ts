import { timeOutsideAuctions } from '#core/funding/auctions'
import { type FundingPayment, fundingPayment } from '#core/funding/payment'
import type { PricePoint } from '#core/funding/point-list'
import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'
import type { Funding, Market } from './market.ts'

/** `FundingPeriodDataPoint.Source`. */
export type SentSource = typeof EXTERNAL | typeof INTERNAL
export const EXTERNAL = 1
export const INTERNAL = 2

/** `LossSocialization.Type`. */
const FUNDING_PAYMENT = 2

/** The TWAPs in a period's event; `end` is null if the period begins. */
type PeriodTwaps = { end: bigint | null; internalTwap: bigint | null; externalTwap: bigint | null }

/** A data point as it is sent. */
type SentPoint = { seq: number; source: SentSource; point: PricePoint; twap: bigint }

/**
 * Writes a `FundingPeriod` event. A period that ends has payment and rate if it has both TWAPs, and a length above 0. The
 * traders' payments precede it.
 */
export function writePeriod(context: Context, market: Market, funding: Funding, twaps: PeriodTwaps): void {
  const { end, internalTwap, externalTwap } = twaps
  const { start, auctions } = funding.period
  let paid: FundingPayment | null = null
  if (end !== null && end > start && internalTwap !== null && externalTwap !== null) {
    const timeInAuctions = end - start - timeOutsideAuctions(auctions, start, end)
    paid = fundingPayment({ internalTwap, externalTwap, start, end, timeInAuctions }, market.terms)
  }
  if (paid !== null) writePayments(context, market, funding.seq, BigInt(paid.fundingPayment))
  context.out.write(EVENT_TYPES.fundingPeriod, context.transaction, {
    1: market.id,
    2: funding.seq,
    3: start,
    4: end,
    5: paid?.fundingPayment ?? null,
    6: paid?.fundingRate ?? null,
    7: internalTwap?.toString() ?? null,
    8: externalTwap?.toString() ?? null,
  })
}

/**
 * Writes a `FundingPayments` event, in which long positions pay a positive payment to short ones, and a `LossSocialization`
 * event for each party that cannot pay, or does not receive everything.
 */
function writePayments(
  { out, transaction }: Context,
  { id, positions, lossesOf }: Market,
  seq: number,
  payment: bigint,
): void {
  const payments = positions.map(({ party, units }) => ({ party, amount: -payment * BigInt(units) }))
  out.write(EVENT_TYPES.fundingPayments, transaction, {
    1: id,
    2: seq,
    3: payments.map(({ party, amount }) => ({ 1: party, 2: String(amount) })),
  })
  for (const { party, amount } of lossesOf(payments)) {
    out.write(EVENT_TYPES.lossSocialization, transaction, {
      1: id,
      2: party,
      3: String(amount),
      4: FUNDING_PAYMENT,
    })
  }
}

/** Writes a `FundingPeriodDataPoint` event. */
export function writeDataPoint(
  context: Context,
  market: Market,
  { seq, source, point, twap }: SentPoint,
): void {
  context.out.write(EVENT_TYPES.fundingPeriodDataPoint, context.transaction, {
    1: market.id,
    2: seq,
    3: source,
    4: point.price.toString(),
    6: point.time,
    7: twap.toString(),
  })
}
