import { EVENT_KIND } from '../../events/bus-event.ts'
import type { AuctionEvent } from '../../events/event.ts'
import { boolField, decoderOf, int64Field, marketField } from '../../events/message-fields.ts'
import type { Arrival } from '../arrival.ts'
import { put } from '../batch.ts'
import { auctionTable } from './table.ts'

const decodeAuction = decoderOf<AuctionEvent>(
  { kind: 'auction' },
  {
    marketId: marketField(1),
    openingAuction: boolField(2),
    leave: boolField(3),
    start: int64Field(4),
    end: int64Field(5),
  },
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
