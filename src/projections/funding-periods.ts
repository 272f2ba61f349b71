import type { FundingPeriodEvent } from '../events/event.ts'
import { type Batch, put, type StreamPlace } from './batch.ts'

/** A period's latest event gives all but its start, set or not; its start is the earliest event's. */
export function projectFundingPeriod(
  batch: Batch,
  event: FundingPeriodEvent,
  { height, eventIndex }: StreamPlace,
): void {
  const { marketId, seq, start, end, fundingPayment, fundingRate, internalTwap, externalTwap } = event
  put(batch, 'funding_periods', [
    ...[marketId, seq, start, height, eventIndex, end, fundingPayment, fundingRate],
    ...[internalTwap, externalTwap, height, eventIndex],
  ])
}
