import type { FundingPeriodDataPointEvent } from '../events/event.ts'
import { type Batch, type StreamPlace, spanKey } from './batch.ts'

/** Every data point is kept; the span of its funding period grows to hold it. */
export function projectFundingPeriodDataPoint(
  batch: Batch,
  event: FundingPeriodDataPointEvent,
  place: StreamPlace,
): void {
  const { marketId, seq, timestamp } = event
  batch.fundingPeriodDataPoints.push({
    marketId,
    source: event.source,
    timestamp,
    seq,
    price: event.price,
    twap: event.twap,
    height: place.height,
    eventIndex: place.eventIndex,
  })
  const key = spanKey(event)
  const span = batch.fundingPeriodSpans.get(key)
  if (span === undefined) {
    batch.fundingPeriodSpans.set(key, { marketId, seq, first: timestamp, last: timestamp })
  } else {
    if (timestamp < span.first) span.first = timestamp
    if (timestamp > span.last) span.last = timestamp
  }
}
