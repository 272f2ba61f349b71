import type { FundingPeriodEvent } from '../events/event.ts'
import type { Batch, StreamPlace } from './batch.ts'

/** A period's closing event replaces its opening one. */
export function projectFundingPeriod(batch: Batch, event: FundingPeriodEvent, place: StreamPlace): void {
  batch.fundingPeriods.push({
    marketId: event.marketId,
    seq: event.seq,
    start: event.start,
    end: event.end,
    fundingPayment: event.fundingPayment,
    fundingRate: event.fundingRate,
    internalTwap: event.internalTwap,
    externalTwap: event.externalTwap,
    height: place.height,
    eventIndex: place.eventIndex,
  })
}
