import { decimal, defineTable, marketId, natural, partyId, place } from '../table.ts'

/** All events are kept, with the place of the end of their epoch: of several the first one counts. */
export const paidFeesTable = defineTable({
  name: 'paid_liquidity_fees',
  columns: { market_id: marketId(), epoch: natural(), ...place, party_id: partyId(), amount: decimal() },
  key: ['market_id', 'epoch', 'height', 'event_index', 'party_id'],
  goesWithBlock: true,
  spread: 'market_id',
})
