import { decimal, defineTable, marketId, natural, partyId, positionColumns } from '../../model/table.ts'

/**
 * All events are kept: of several the first one counts. Those in the block of the end of their epoch have its position, those in a
 * block without an end their own.
 */
export const paidFeesTable = defineTable({
  name: 'paid_liquidity_fees',
  columns: {
    market_id: marketId(),
    epoch: natural(),
    ...positionColumns,
    party_id: partyId(),
    amount: decimal(),
  },
  key: ['market_id', 'epoch', 'height', 'event_index', 'party_id'],
  goesWithBlock: true,
  spread: 'market_id',
})
