import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import { defineTable, integer, marketId, orNull, place, small, text } from '../table.ts'

export const instrumentTable = defineTable({
  name: 'instruments',
  counted: 'instruments',
  pruned: null,
  columns: {
    market_id: marketId(),
    code: text(),
    name: text(),
    product: integer(),
    quote_name: text(),
    decimal_places: integer(),
    position_decimal_places: integer(),
    state: small(0, MARKET_STATES.length - 1),
    trading_mode: small(0, TRADING_MODES.length - 1),
    settlement_asset: orNull(text()),
    interest_rate: orNull(text()),
    clamp_lower_bound: orNull(text()),
    clamp_upper_bound: orNull(text()),
    scaling_factor: orNull(text()),
    rate_lower_bound: orNull(text()),
    rate_upper_bound: orNull(text()),
    ...place,
  },
  key: ['market_id'],
  spread: 'everywhere',
})

export const assetTable = defineTable({
  name: 'assets',
  counted: null,
  pruned: null,
  columns: {
    asset_id: text(),
    name: text(),
    symbol: text(),
    decimals: integer(),
    status: small(0, 6),
    ...place,
  },
  key: ['asset_id'],
  spread: 'everywhere',
})
