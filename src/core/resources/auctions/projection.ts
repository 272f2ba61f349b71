import type { EventPosition } from '../../domain/event-position.ts'
import { EVENT_KIND } from '../../events/bus-event.ts'
import type { AuctionEvent } from '../../events/event.ts'
import { boolField, decoderOf, int64Field, marketField } from '../../events/message-fields.ts'
import { type Batch, put } from '../../model/batch.ts'
import { NO_BLOCK, type ProjectedBlock, type Projection } from '../../model/projection.ts'
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

/**
 * The start in a row that is not from an auction event. The events that the core sends when an auction ends contain its
 * start.
 */
const NO_START = 0n

/** The beginning or end of an auction, which is a row. */
export const auctionProjection: Projection<AuctionEvent> = {
  kind: 'auction',
  numbers: [EVENT_KIND.auction],
  decode: decodeAuction,
  faultOf: ({ marketId }) => (marketId === '' ? 'invalid market ID' : null),
  /** Every auction event is stored. */
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

/**
 * Adds the end of a market's auction, in case one is in progress then: the core sends no leaving event for a market that
 * ends while it is suspended. Whether one is in progress depends on other blocks, which may arrive later, so the row is
 * always added. Without an auction it has no effect. In an imported state, the block of the row is unknown.
 */
export function putAuctionEnd(
  batch: Batch,
  marketId: string,
  { height, index }: EventPosition,
  block: ProjectedBlock,
): void {
  if (block === NO_BLOCK) return
  put(batch, auctionTable, {
    market_id: marketId,
    height,
    event_index: index,
    opening_auction: false,
    leave: true,
    start_timestamp: NO_START,
    end_timestamp: block.timestamp,
  })
}
