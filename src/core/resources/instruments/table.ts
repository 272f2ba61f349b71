import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import { defineTable, integer, marketId, natural, orNull, place, positive, small, text } from '../table.ts'

export const instrumentTable = defineTable({
  name: 'instruments',
  counted: 'instruments',
  columns: {
    market_id: marketId(),
    code: text(),
    name: text(),
    product: integer(),
    quote_name: text(),
    decimal_places: integer(),
    position_decimal_places: integer(),
    state: small(MARKET_STATES.length - 1),
    trading_mode: small(TRADING_MODES.length - 1),
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

/** Terms from the same events, which stores of older versions do not have. */
export const instrumentTermTable = defineTable({
  name: 'instrument_terms',
  columns: {
    market_id: marketId(),
    schedule_initial: orNull(integer()),
    schedule_every: orNull(positive()),
    sla_price_range: orNull(text()),
    sla_min_time_fraction: orNull(text()),
    sla_hysteresis_epochs: orNull(natural()),
    sla_competition_factor: orNull(text()),
    ...place,
  },
  key: ['market_id'],
  spread: 'everywhere',
})

export const assetTable = defineTable({
  name: 'assets',
  columns: {
    asset_id: text(),
    name: text(),
    symbol: text(),
    decimals: integer(),
    status: small(6),
    ...place,
  },
  key: ['asset_id'],
  spread: 'everywhere',
})
