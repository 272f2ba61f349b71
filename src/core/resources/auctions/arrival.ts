import { EVENT_KIND } from '../../events/bus-event.ts'
import type { AuctionEvent } from '../../events/event.ts'
import { MARKET_IDS } from '../../events/known-ids.ts'
import { bytesOf, uint, type WireReader } from '../../events/wire-reader.ts'
import type { Arrival } from '../arrival.ts'
import { put } from '../batch.ts'
import { auctionTable } from './table.ts'

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

function decodeAuction(reader: WireReader): AuctionEvent {
  const event: AuctionEvent = {
    kind: 'auction',
    marketId: '',
    openingAuction: false,
    leave: false,
    start: 0n,
    end: 0n,
  }
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) event.marketId = reader.id(MARKET_IDS) ?? ''
    else if (tag === uint(2)) event.openingAuction = reader.uint32() !== 0
    else if (tag === uint(3)) event.leave = reader.uint32() !== 0
    else if (tag === uint(4)) event.start = reader.int64()
    else if (tag === uint(5)) event.end = reader.int64()
    else reader.skip(tag)
  }
  return event
}
