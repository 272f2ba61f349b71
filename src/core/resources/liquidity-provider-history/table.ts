import { boolean, defineTable, integer, marketId, natural, orNull, partyId, place, text } from '../table.ts'

/** The position is that of the epoch's only end: earlier market data may still arrive later. */
export const historyTable = defineTable({
  name: 'liquidity_provider_history',
  counted: 'liquidityProviderHistory',
  columns: {
    market_id: marketId(),
    party_id: partyId(),
    epoch: natural(),
    timestamp: integer(),
    /** Whether the market data had an SLA of the party; without it, the row is of fees alone. */
    has_figures: boolean(),
    time_on_book: text(),
    fee_penalty: text(),
    bond_penalty: text(),
    required_liquidity: text(),
    equity_like_share: orNull(text()),
    ...place,
  },
  key: ['market_id', 'party_id', 'epoch'],
  goesWithBlock: true,
  spread: 'market_id',
})
