/** Products by stored number. */
export const PRODUCTS = [
  'PRODUCT_UNSPECIFIED',
  'PRODUCT_FUTURE',
  'PRODUCT_SPOT',
  'PRODUCT_PERPETUAL',
] as const

/** `Market.State` by number. */
export const MARKET_STATES = [
  'STATE_UNSPECIFIED',
  'STATE_PROPOSED',
  'STATE_REJECTED',
  'STATE_PENDING',
  'STATE_CANCELLED',
  'STATE_ACTIVE',
  'STATE_SUSPENDED',
  'STATE_CLOSED',
  'STATE_TRADING_TERMINATED',
  'STATE_SETTLED',
  'STATE_SUSPENDED_VIA_GOVERNANCE',
] as const

/** States after which a market never trades again: closed, trading terminated, settled. */
export const TRADING_IS_OVER: readonly number[] = [7, 8, 9]

/** States in which a market no longer pays funding: rejected, cancelled, or trading is over. */
export const ENDED_STATES: readonly number[] = [2, 4, ...TRADING_IS_OVER]

/** `Market.TradingMode` by number. */
export const TRADING_MODES = [
  'TRADING_MODE_UNSPECIFIED',
  'TRADING_MODE_CONTINUOUS',
  'TRADING_MODE_BATCH_AUCTION',
  'TRADING_MODE_OPENING_AUCTION',
  'TRADING_MODE_MONITORING_AUCTION',
  'TRADING_MODE_NO_TRADING',
  'TRADING_MODE_SUSPENDED_VIA_GOVERNANCE',
  'TRADING_MODE_LONG_BLOCK_AUCTION',
  'TRADING_MODE_PROTOCOL_AUTOMATED_PURCHASE_AUCTION',
] as const
