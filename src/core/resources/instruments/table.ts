import { MARKET_STATES, TRADING_MODES } from '../../events/market-enums.ts'
import {
  integer,
  keyText,
  marketId,
  natural,
  numberText,
  orNull,
  positionColumns,
  positive,
  small,
  text,
} from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** The highest number of the enum `Asset.Status`. */
export const LAST_ASSET_STATUS = 4

/** A market as of its latest event. */
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
    settlement_asset: orNull(keyText()),
    interest_rate: orNull(numberText()),
    clamp_lower_bound: orNull(numberText()),
    clamp_upper_bound: orNull(numberText()),
    scaling_factor: orNull(numberText()),
    rate_lower_bound: orNull(numberText()),
    rate_upper_bound: orNull(numberText()),
    ...positionColumns,
  },
  key: ['market_id'],
  distribution: 'everywhere',
})

/** Terms from the same events. They are a separate table because stores of older versions do not have them. */
export const instrumentTermTable = defineTable({
  name: 'instrument_terms',
  columns: {
    market_id: marketId(),
    schedule_initial: orNull(integer()),
    schedule_every: orNull(positive()),
    sla_price_range: orNull(numberText()),
    sla_min_time_fraction: orNull(numberText()),
    sla_hysteresis_epochs: orNull(natural()),
    sla_competition_factor: orNull(numberText()),
    ...positionColumns,
  },
  key: ['market_id'],
  distribution: 'everywhere',
})

/** An asset as of its latest event. */
export const assetTable = defineTable({
  name: 'assets',
  columns: {
    asset_id: keyText(),
    name: text(),
    symbol: text(),
    decimals: integer(),
    status: small(LAST_ASSET_STATUS),
    ...positionColumns,
  },
  key: ['asset_id'],
  distribution: 'everywhere',
})
