import { decimal, integer, marketId, natural, partyId, positionColumns } from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** The losses are in the same block as the payment, so they share its position. */
export const fundingPaymentTable = defineTable({
  name: 'funding_payments',
  counted: 'fundingPayments',
  pruned: { time: 'timestamp', height: 'height' },
  columns: {
    market_id: marketId(),
    party_id: partyId(),
    seq: natural(),
    timestamp: integer(),
    amount: decimal(),
    loss_amount: decimal(),
    ...positionColumns,
  },
  key: ['market_id', 'party_id', 'seq'],
  goesWithBlock: true,
  distribution: 'market_id',
})
