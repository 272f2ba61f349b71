import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import {
  decimal,
  integer,
  marketId,
  natural,
  naturalText,
  numberText,
  orNull,
  positionColumns,
  small,
} from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** The latest data of each market, and the highest period that any of its data have named. */
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
    /** The highest seq of a period in any data of the market; -1 if none is named. */
    highest_seq: integer('greatest'),
    ...positionColumns,
  },
  key: ['market_id'],
  distribution: 'market_id',
})
