import type { EventPosition } from '../../domain/event-position.ts'
import { wholeSecond } from '../../funding/whole-second.ts'
import type { Row } from '../../model/row.ts'
import type { Query } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'

/** An event of an auction, at a whole second. */
export type AuctionEvent = { isLeave: boolean; isOpening: boolean; second: bigint; position: EventPosition }

/** The position before all events. */
export const BEFORE_EVENTS: EventPosition = { height: 0n, index: 0 }

// The databases return booleans in different ways.
const COLUMNS = `case when leave then 1 else 0 end, case when opening_auction then 1 else 0 end,
    cast(case when leave then end_timestamp else start_timestamp end as text), ${textOf('height')}, event_index`

const READ_EVENTS = `
  select ${COLUMNS} from auctions where market_id = $1 and (height, event_index) >= ($2, $3)
  order by auctions.height, auctions.event_index`

const READ_LAST_EVENTS = `
  select ${COLUMNS} from auctions where market_id = $1
  order by auctions.height desc, auctions.event_index desc limit $2`

/** Reads the auction events of a market from a position on, in their order. */
export function* readAuctionEvents(
  marketId: string,
  { height, index }: EventPosition = BEFORE_EVENTS,
): Query<AuctionEvent[]> {
  return (yield { text: READ_EVENTS, values: [marketId, height, BigInt(index)] }).map(auctionEventOf)
}

/** Reads the last auction events of a market, at most so many, in their order. */
export function* readLastAuctionEvents(marketId: string, most: number): Query<AuctionEvent[]> {
  const rows = yield { text: READ_LAST_EVENTS, values: [marketId, BigInt(most)] }
  return rows.map(auctionEventOf).reverse()
}

function auctionEventOf([leave, opening, time, height, index]: Row): AuctionEvent {
  return {
    isLeave: Number(leave) === 1,
    isOpening: Number(opening) === 1,
    second: wholeSecond(BigInt(time!)),
    position: { height: BigInt(height!), index: Number(index) },
  }
}
