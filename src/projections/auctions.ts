import type { AuctionEvent } from '../events/event.ts'
import type { Batch, StreamPlace } from './batch.ts'

/** Every auction event is kept, by its place in the stream: TWAPs are checked against them. */
export function projectAuction(batch: Batch, event: AuctionEvent, place: StreamPlace): void {
  batch.auctions.push({
    marketId: event.marketId,
    openingAuction: event.openingAuction,
    leave: event.leave,
    start: event.start,
    end: event.end,
    height: place.height,
    eventIndex: place.eventIndex,
  })
}
