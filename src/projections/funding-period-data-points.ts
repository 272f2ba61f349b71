import type { FundingPeriodDataPointEvent } from '../events/event.ts'
import { type Batch, put, type StreamPlace } from './batch.ts'

/** Every data point is kept. */
export function projectFundingPeriodDataPoint(
  batch: Batch,
  { marketId, source, timestamp, seq, price, twap }: FundingPeriodDataPointEvent,
  { height, eventIndex }: StreamPlace,
): void {
  put(batch, 'funding_period_data_points', [
    marketId,
    source,
    timestamp,
    seq,
    price,
    twap,
    height,
    eventIndex,
  ])
}
