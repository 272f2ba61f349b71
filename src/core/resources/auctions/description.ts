import { defineResource } from '../../model/resource.ts'
import { auctionIntervalTable, auctionTable } from './table.ts'

/** The auctions of markets. */
export const auctions = defineResource({
  name: 'auctions',
  nodeName: 'Auction',
  summary: 'List the auctions of markets',
  meaning: 'A time in which a market was in auction. Adjoining auctions are merged.',
  path: '/api/v2/auctions',
  tag: 11,
  cursor: 'u',
  key: [
    { column: 'market_id', type: 'id' },
    { column: 'start_timestamp', type: 'int64' },
  ],
  filters: ['marketId'],
  overlapRange: { start: 'start_timestamp', end: 'end_timestamp' },
  storage: {
    table: auctionIntervalTable,
    hasPositionsOfAllMarkets: true,
    // Any event from the end of the previous auction up to the last one of this may have changed it.
    fromInGaps: `select auction_intervals.market_id, auction_intervals.start_timestamp, auction_intervals.end_timestamp,
        auction_intervals.opening_auction, events.height, events.event_index
      from auction_intervals join auctions as events on events.market_id = auction_intervals.market_id
        and (events.height, events.event_index) >= (auction_intervals.after_height, auction_intervals.after_index)
        and (events.height, events.event_index) <= (auction_intervals.height, auction_intervals.event_index)`,
    derivedFrom: [auctionTable.name],
  },
  fields: [
    { name: 'marketId', meaning: 'The market.', form: 'marketId' },
    {
      name: 'start',
      meaning: 'Start of the auction, Unix nanoseconds.',
      column: 'start_timestamp',
      form: 'time',
    },
    {
      name: 'end',
      meaning: 'End of the auction, Unix nanoseconds. Absent while the auction is in progress.',
      column: 'end_timestamp',
      form: 'time',
      ifNull: 'left out',
    },
    {
      name: 'openingAuction',
      meaning: "Whether it is the market's opening auction, or begins with it.",
      column: 'opening_auction',
      form: 'boolean',
    },
  ],
  coverage: 'count',
})
