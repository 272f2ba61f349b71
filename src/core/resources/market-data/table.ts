import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import {
  decimal,
  defineTable,
  integer,
  marketId,
  natural,
  naturalText,
  numberText,
  orNull,
  positionColumns,
  small,
} from '../../model/table.ts'

/** The latest of each market, and what any of them has named. */
export const marketDataTable = defineTable({
  name: 'market_data',
  columns: {
    market_id: marketId(),
    timestamp: integer(),
    mark_price: decimal({ orEmpty: true }),
    open_interest: naturalText(),
    market_state: small(MARKET_STATES.length - 1),
    trading_mode: small(TRADING_MODES.length - 1),
    funding_payment: orNull(numberText()),
    funding_rate: orNull(numberText()),
    internal_twap: orNull(decimal()),
    external_twap: orNull(decimal()),
    seq: natural(),
    /** The highest seq of a period that any data of the market have named; -1 if none have. */
    highest_seq: integer('greatest'),
    ...positionColumns,
  },
  key: ['market_id'],
  spread: 'market_id',
})
