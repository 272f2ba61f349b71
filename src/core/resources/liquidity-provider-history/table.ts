import {
  boolean,
  decimal,
  integer,
  marketId,
  natural,
  numberText,
  orNull,
  partyId,
  positionColumns,
} from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/**
 * The position is that of the epoch's only end, because earlier market data may still arrive later. Rows of fees alone have
 * the position of their first event, which may be in another block.
 */
export const historyTable = defineTable({
  name: 'liquidity_provider_history',
  counted: 'liquidityProviderHistory',
  columns: {
    market_id: marketId(),
    party_id: partyId(),
    epoch: natural(),
    timestamp: integer(),
    /** Whether the market data had an SLA of the party. If not, the row contains only fees. */
    has_figures: boolean(),
    time_on_book: numberText(),
    fee_penalty: numberText(),
    bond_penalty: numberText(),
    required_liquidity: numberText(),
    equity_like_share: orNull(numberText()),
    ...positionColumns,
  },
  key: ['market_id', 'party_id', 'epoch'],
  fullIf: 'has_figures',
  goesWithBlock: true,
  distribution: 'market_id',
})

/**
 * The fees of the history. All events are stored; of several for the same key the first one counts. Events in the block with
 * the end of their epoch have the position of that end, others their own.
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

/** The figures of a row with only fees. */
export const NO_FIGURES = {
  has_figures: false,
  time_on_book: '',
  fee_penalty: '',
  bond_penalty: '',
  required_liquidity: '',
} as const
