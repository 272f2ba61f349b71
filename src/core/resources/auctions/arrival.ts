import { EVENT_KIND } from '../../events/bus-event.ts'
import type { AuctionEvent } from '../../events/event.ts'
import { decoderOf, flag, int64, marketId } from '../../events/message-fields.ts'
import type { Arrival } from '../arrival.ts'
import { put } from '../batch.ts'
import { auctionTable } from './table.ts'

const decodeAuction = decoderOf<AuctionEvent>(
  { kind: 'auction' },
  { marketId: marketId(1), openingAuction: flag(2), leave: flag(3), start: int64(4), end: int64(5) },
)

export const auctionArrival: Arrival<AuctionEvent> = {
  kind: 'auction',
  numbers: [EVENT_KIND.auction],
  decode: decodeAuction,
  faultOf: ({ marketId }) => (marketId === '' ? 'invalid market ID' : null),
  /** Every auction event is kept. */
  project: (batch, { marketId, openingAuction, leave, start, end }, { height, index }) => {
    put(batch, auctionTable, {
      market_id: marketId,
      height,
      event_index: index,
      opening_auction: openingAuction,
      leave,
      start_timestamp: start,
      end_timestamp: end,
    })
  },
}
