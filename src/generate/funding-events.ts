import { timeOutsideAuctions } from '../funding/auctions.ts'
import { fundingPayment } from '../funding/payment.ts'
import type { PricePoint } from '../funding/point-list.ts'
import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'
import type { Funding, Market } from './market.ts'

/** `FundingPeriodDataPoint.Source`. */
export type DataPointSource = typeof EXTERNAL | typeof INTERNAL
export const EXTERNAL = 1
export const INTERNAL = 2

/** A period's TWAPs in its event; `end` null: the period begins. */
export type PeriodTwaps = { end: bigint | null; internalTwap: bigint | null; externalTwap: bigint | null }

/** A data point as it is sent. */
export type SentPoint = { seq: number; source: DataPointSource; point: PricePoint; twap: bigint }

/** Writes a `FundingPeriod` event. A period that closes has payment and rate if it has both TWAPs and a length. */
export function writePeriod(context: Context, market: Market, funding: Funding, twaps: PeriodTwaps): void {
  const { end, internalTwap, externalTwap } = twaps
  const { start, auctions } = funding.period
  const { body } = context.out
  context.out.begin(EVENT_TYPES.fundingPeriod, context.transaction)
  body.content(1, market.id)
  body.uint(2, funding.seq)
  body.int64(3, start)
  if (end !== null) {
    body.int64(4, end)
    if (end > start && internalTwap !== null && externalTwap !== null) {
      const timeInAuctions = end - start - timeOutsideAuctions(auctions, start, end)
      const paid = fundingPayment({ internalTwap, externalTwap, start, end, timeInAuctions }, market.terms)
      body.text(5, paid.fundingPayment)
      body.text(6, paid.fundingRate)
    }
  }
  if (internalTwap !== null) body.text(7, internalTwap.toString())
  if (externalTwap !== null) body.text(8, externalTwap.toString())
  context.out.end()
}

/** Writes a `FundingPeriodDataPoint` event. */
export function writeDataPoint(
  context: Context,
  market: Market,
  { seq, source, point, twap }: SentPoint,
): void {
  const { body } = context.out
  context.out.begin(EVENT_TYPES.fundingPeriodDataPoint, context.transaction)
  body.content(1, market.id)
  body.uint(2, seq)
  body.uint(3, source)
  body.text(4, point.price.toString())
  body.int64(6, point.time)
  body.text(7, twap.toString())
  context.out.end()
}
