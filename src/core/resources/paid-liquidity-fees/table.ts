import { decimal, marketId, natural, partyId, positionColumns } from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/**
 * All events are stored; of several for the same key the first one counts. Events in the block with the end of their epoch
 * have the position of that end, others their own.
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
  distribution: 'market_id',
})
