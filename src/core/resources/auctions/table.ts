import { boolean, integer, marketId, positionColumns } from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** A row's position is its key, so a repeated block replaces its rows. */
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
