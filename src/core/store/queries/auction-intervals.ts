import type { EventPosition } from '../../domain/event-position.ts'
import { enterAuction, leaveAuction, noAuctions } from '../../funding/auctions.ts'
import type { RowOf } from '../../model/table.ts'
import type { auctionIntervalTable } from '../../resources/auctions/table.ts'
import type { Query } from '../queries-protocol.ts'
import { type AuctionEvent, BEFORE_EVENTS, readAuctionEvents } from './auction-events.ts'

/** An auction, as it is stored. */
type IntervalRow = RowOf<typeof auctionIntervalTable>

/** The auctions that follow from all events of a market, by start. Of two that begin at the same time, the later one counts. */
export function* readIntervals(marketId: string): Query<IntervalRow[]> {
  const events = yield* readAuctionEvents(marketId)
  const intervals = intervalsOf(marketId, events, BEFORE_EVENTS)
  const byStart = new Map(intervals.map((interval) => [interval.start_timestamp, interval]))
  return [...byStart.values()].sort((a, b) => (a.start_timestamp < b.start_timestamp ? -1 : 1))
}

/**
 * The auctions that follow from events of a market, oldest first, by the rules of funding/auctions.ts. No auction is in progress
 * before them.
 *
 * @param after the position of the auction before them
 */
export function intervalsOf(
  marketId: string,
  events: readonly AuctionEvent[],
  after: EventPosition,
): IntervalRow[] {
  const state = noAuctions()
  const rows: IntervalRow[] = []
  for (const { isLeave, isOpening, second, position } of events) {
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
