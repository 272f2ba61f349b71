import type { AuctionEvent } from '../events/event.ts'
import { type Batch, put, type StreamPlace } from './batch.ts'

/** Every auction event is kept. */
export function projectAuction(
  batch: Batch,
  { marketId, openingAuction, leave, start, end }: AuctionEvent,
  { height, eventIndex }: StreamPlace,
): void {
  put(batch, 'auctions', [marketId, height, eventIndex, openingAuction, leave, start, end])
}
