import type { FundingPeriodDataPointEvent } from '../events/event.ts'
import { type Batch, type FundingPeriodSpan, type StreamPlace, spanKey } from './batch.ts'

/** Every data point is kept; the span of its funding period grows to hold it. */
export function projectFundingPeriodDataPoint(
  batch: Batch,
  event: FundingPeriodDataPointEvent,
  place: StreamPlace,
): void {
  const { marketId, seq, timestamp } = event
  const span = spanOf(batch, event)
  if (timestamp < span.first) span.first = timestamp
  if (timestamp > span.last) span.last = timestamp
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
}

/** The span of the event's funding period; of the event alone where it is the first of its period. */
function spanOf(batch: Batch, event: FundingPeriodDataPointEvent): FundingPeriodSpan {
  const { marketId, seq, timestamp } = event
  const latest = batch.latestSpans.get(marketId)
  if (latest?.seq === seq) return latest
  const key = spanKey(event)
  let span = batch.fundingPeriodSpans.get(key)
  if (span === undefined) {
    span = { marketId, seq, first: timestamp, last: timestamp }
    batch.fundingPeriodSpans.set(key, span)
  }
  batch.latestSpans.set(marketId, span)
  return span
}
