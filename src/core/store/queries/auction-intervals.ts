import type { EventPosition } from '../../domain/event-position.ts'
import { enterAuction, leaveAuction, noAuctions } from '../../funding/auctions.ts'
import { wholeSecond } from '../../funding/whole-second.ts'
import type { Row } from '../../model/row.ts'
import type { RowOf } from '../../model/table.ts'
import type { auctionIntervalTable } from '../../resources/auctions/table.ts'
import type { Query } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'

/** An auction, as it is stored. */
type IntervalRow = RowOf<typeof auctionIntervalTable>

/** An event of an auction, at a whole second. */
type AuctionEvent = { isLeave: boolean; isOpening: boolean; second: bigint; position: EventPosition }

/** The position before all events. */
export const BEFORE_EVENTS: EventPosition = { height: 0n, index: 0 }

/** The auction events of a market from a position on, for {@link intervalsOf}. */
export const READ_AUCTION_EVENTS = `
  select case when leave then 1 else 0 end, case when opening_auction then 1 else 0 end,
    cast(case when leave then end_timestamp else start_timestamp end as text), ${textOf('height')}, event_index
  from auctions where market_id = $1 and (height, event_index) >= ($2, $3)
  order by auctions.height, auctions.event_index`

/** The auctions that follow from all events of a market, by start. Of two that begin at the same time, the later one counts. */
export function* readIntervals(marketId: string): Query<IntervalRow[]> {
  const { height, index } = BEFORE_EVENTS
  const events = yield { text: READ_AUCTION_EVENTS, values: [marketId, height, BigInt(index)] }
  const intervals = intervalsOf(marketId, events, BEFORE_EVENTS)
  const byStart = new Map(intervals.map((interval) => [interval.start_timestamp, interval]))
  return [...byStart.values()].sort((a, b) => (a.start_timestamp < b.start_timestamp ? -1 : 1))
}

/**
 * The auctions that follow from events of a market, oldest first, by the rules of funding/auctions.ts. No auction is in progress
 * before them.
 *
 * @param events the rows of {@link READ_AUCTION_EVENTS}
 * @param after the position of the auction before them
 */
export function intervalsOf(marketId: string, events: readonly Row[], after: EventPosition): IntervalRow[] {
  const state = noAuctions()
  const rows: IntervalRow[] = []
  for (const { isLeave, isOpening, second, position } of events.map(auctionEventOf)) {
    const change = isLeave ? leaveAuction(state, second) : enterAuction(state, second)
    if (change === null) continue
    if (change === 'began') {
      const previous = rows.at(-1)
      rows.push({
        market_id: marketId,
        start_timestamp: second,
        end_timestamp: null,
        opening_auction: isOpening ? 1 : 0,
        after_height: previous?.height ?? after.height,
        after_index: previous?.event_index ?? after.index,
        begin_height: position.height,
        begin_index: position.index,
        ...columnsOf(position),
      })
      continue
    }
    const last = rows.pop()!
    if (change === 'gone') continue
    rows.push({ ...last, end_timestamp: change === 'ended' ? second : null, ...columnsOf(position) })
  }
  return rows
}

/** Where the last event is that changed an auction. */
const columnsOf = ({ height, index }: EventPosition) => ({ height, event_index: index })

function auctionEventOf([leave, opening, time, height, index]: Row): AuctionEvent {
  return {
    isLeave: Number(leave) === 1,
    isOpening: Number(opening) === 1,
    second: wholeSecond(BigInt(time!)),
    position: { height: BigInt(height!), index: Number(index) },
  }
}
