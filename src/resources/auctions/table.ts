import { boolean, integer, place, type Table, text } from '../table.ts'

export const auctionTables: readonly Table[] = [
  {
    name: 'auctions',
    counted: 'auctions',
    columns: [
      ...[text('market_id'), ...place, boolean('opening_auction'), boolean('leave')],
      ...[integer('start_timestamp'), integer('end_timestamp')],
    ],
    keyLength: 3,
    spread: 'market_id',
  },
]
