import { type EventPosition, isBefore } from '../../domain/event-position.ts'
import { type Batch, rowsOf } from '../../model/batch.ts'
import type { Row } from '../../model/row.ts'
import { auctionIntervalTable, auctionTable } from '../../resources/auctions/table.ts'
import { BEFORE_EVENTS, readAuctionEvents } from '../queries/auction-events.ts'
import { intervalsOf } from '../queries/auction-intervals.ts'
import { asMutation, type Mutation, readEach } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'

/*
 * The auctions of a market follow from its events. After a commit they are calculated anew from the last auction that began
 * before the first event that the commit has added or removed: those before it cannot have changed.
 */

/** The markets whose auction events a commit changes, each with the position of the first one. */
type ChangedAuctions = ReadonlyMap<string, EventPosition>

const READ_REPLACED = 'select distinct market_id from auctions where height = $1 and event_index > $2'

const READ_MARKETS = 'select distinct market_id from auctions'

const READ_LAST_BEFORE = `
  select ${textOf('begin_height')}, begin_index, ${textOf('after_height')}, after_index
  from auction_intervals where market_id = $1 and (begin_height, begin_index) < ($2, $3)
  order by auction_intervals.begin_height desc, auction_intervals.begin_index desc limit 1`

const DELETE_FROM = `
  delete from auction_intervals where market_id = $1 and (begin_height, begin_index) >= ($2, $3)`

/** The changes of a batch, whose writes have not begun: events of replaced blocks are still stored. */
export function* changedAuctions(batch: Batch): Mutation<ChangedAuctions> {
  const changed = new Map<string, EventPosition>()
  const note = (marketId: string, position: EventPosition) => {
    const first = changed.get(marketId)
    if (first === undefined || isBefore(position, first)) changed.set(marketId, position)
  }
  for (const { market_id, height, event_index: index } of rowsOf(batch, auctionTable))
    note(market_id, { height, index })
  if (batch.replaced.length > 0) {
    const replaced = yield* readEach(READ_REPLACED, batch.replaced, ({ height, index }) => [height, index])
    for (const [position, markets] of replaced)
      for (const [marketId] of markets) note(String(marketId), position)
  }
  return changed
}

/** Writes the auctions of these markets, from the last one that began before the position on. */
export function* writeAuctions(changed: ChangedAuctions): Mutation {
  for (const [marketId, { height, index }] of changed) {
    const [[last] = []] = yield { text: READ_LAST_BEFORE, values: [marketId, height, index] }
    const begin = last === undefined ? BEFORE_EVENTS : positionIn(last)
    const after = last === undefined ? BEFORE_EVENTS : positionIn(last.slice(2))
    const from = [marketId, begin.height, begin.index]
    const events = yield* asMutation(readAuctionEvents(marketId, begin))
    const rows = intervalsOf(marketId, events, after)
    yield { text: DELETE_FROM, values: from }
    if (rows.length > 0) yield { table: auctionIntervalTable, rows }
  }
}

/** Writes the auctions of all markets, in a store of a version that had only their events. */
export function* upgradeAuctions(): Mutation {
  const [markets = []] = yield { text: READ_MARKETS }
  yield* writeAuctions(new Map(markets.map(([marketId]) => [String(marketId), BEFORE_EVENTS])))
}

/** The position in the first two cells. */
const positionIn = ([height, index]: Row): EventPosition => ({
  height: BigInt(height!),
  index: Number(index),
})
