import { boolean, integer, marketId, natural, orNull, positionColumns, small } from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** The events of auctions. A row's position is its key, so a repeated block replaces its rows. */
export const auctionTable = defineTable({
  name: 'auctions',
  counted: 'auctions',
  columns: {
    market_id: marketId(),
    ...positionColumns,
    opening_auction: boolean(),
    leave: boolean(),
    start_timestamp: integer(),
    end_timestamp: integer(),
  },
  key: ['market_id', 'height', 'event_index'],
  goesWithBlock: true,
  distribution: 'market_id',
})

/**
 * A row for each auction, in whole seconds, which follows from the events (store/write/write-auctions.ts). Its position is that
 * of the event with which it began, was continued or ended last.
 */
export const auctionIntervalTable = defineTable({
  name: 'auction_intervals',
  columns: {
    market_id: marketId(),
    start_timestamp: integer(),
    /** Null while the auction is in progress. */
    end_timestamp: orNull(integer()),
    opening_auction: small(1),
    /** The position of the market's previous auction; 0 for the first one. */
    after_height: natural(),
    after_index: small(2 ** 31 - 1),
    /** The position of the event with which it began. */
    begin_height: natural(),
    begin_index: small(2 ** 31 - 1),
    ...positionColumns,
  },
  key: ['market_id', 'start_timestamp'],
  isDerived: true,
  distribution: 'market_id',
})
