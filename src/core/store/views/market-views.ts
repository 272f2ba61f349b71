import { MARKET_STATES, PRODUCTS, TRADING_MODES } from '../../events/market-enums.ts'
import { amount, boolean, integer, named, number, text, time } from './columns.ts'
import { asset, market, ofAsset, type View, withMarket } from './view.ts'

/** Markets: what they are, their state, and when they were in auction. */
export const MARKET_VIEWS: readonly View[] = [
  {
    name: 'v_instruments',
    meaning: 'Names, decimals and terms of a market, as of its latest event.',
    columns: [
      text('market_id', 'The market.', 'instruments.market_id'),
      text('market_code', 'Its short name, such as `BTC/PERP`.', 'instruments.code'),
      text('market_name', 'Its long name.', 'instruments.name'),
      named('product', 'Kind of product.', 'instruments.product', PRODUCTS),
      text('quote_name', 'Name of the unit of the prices.', 'instruments.quote_name'),
      integer('decimal_places', 'Decimals of order and trade prices.', 'instruments.decimal_places'),
      integer(
        'position_decimal_places',
        'Decimals of position sizes; may be negative.',
        'instruments.position_decimal_places',
      ),
      named('market_state', 'State of the market.', 'instruments.state', MARKET_STATES),
      named('trading_mode', 'Trading mode.', 'instruments.trading_mode', TRADING_MODES),
      text(
        'asset_id',
        'Settlement asset; for a spot market, the quote asset.',
        'instruments.settlement_asset',
      ),
      text('asset_symbol', 'Its symbol; null if the store has no event of the asset.', 'assets.symbol'),
      text('asset_name', 'Its name.', 'assets.name'),
      integer('asset_decimals', 'Decimals of its amounts.', 'assets.decimals'),
      ...number(
        'interest_rate',
        'Interest rate per year; null for a market that is not perpetual, as the other parameters of funding.',
        'instruments.interest_rate',
      ),
      ...number(
        'clamp_lower_bound',
        'Minimum interest component, as a fraction of the external TWAP.',
        'instruments.clamp_lower_bound',
      ),
      ...number('clamp_upper_bound', 'Maximum interest component.', 'instruments.clamp_upper_bound'),
      ...number('scaling_factor', 'Factor that payments are multiplied by.', 'instruments.scaling_factor'),
      ...number('rate_lower_bound', 'Lowest rate.', 'instruments.rate_lower_bound'),
      ...number('rate_upper_bound', 'Highest rate.', 'instruments.rate_upper_bound'),
      ...time('schedule_initial', 'First due time of payments.', 'instrument_terms.schedule_initial'),
      integer(
        'schedule_every_ns',
        'Nanoseconds from one due time to the next.',
        'instrument_terms.schedule_every',
      ),
      ...number(
        'sla_price_range',
        'Maximum distance from the mid price at which orders count, as a fraction of it; null without an SLA, as all that follows.',
        'instrument_terms.sla_price_range',
      ),
      ...number(
        'sla_commitment_min_time_fraction',
        'Minimum fraction of an epoch on the book.',
        'instrument_terms.sla_min_time_fraction',
      ),
      integer(
        'sla_performance_hysteresis_epochs',
        'Number of earlier epochs that count towards the fee penalty.',
        'instrument_terms.sla_hysteresis_epochs',
      ),
      ...number(
        'sla_competition_factor',
        'Maximum fraction of fees lost as a penalty.',
        'instrument_terms.sla_competition_factor',
      ),
    ],
    from: () => `from instruments
  left join assets on assets.asset_id = instruments.settlement_asset
  left join instrument_terms on instrument_terms.market_id = instruments.market_id`,
  },
  {
    name: 'v_market_data',
    meaning: 'The latest data of a market.',
    columns: [
      ...market('market_data'),
      ...time('timestamp', 'Time of the data.', 'market_data.timestamp'),
      ...amount(
        'mark_price',
        "Mark price in the market's decimals. Empty if there is none.",
        'market_data.mark_price',
        'instruments.decimal_places',
      ),
      ...amount(
        'open_interest',
        "Open interest in the market's position decimals.",
        'market_data.open_interest',
        'instruments.position_decimal_places',
      ),
      named('market_state', 'State of the market.', 'market_data.market_state', MARKET_STATES),
      named('trading_mode', 'Trading mode.', 'market_data.trading_mode', TRADING_MODES),
      integer('seq', 'Number of the funding period that the estimates are for.', 'market_data.seq'),
      ...ofAsset(
        'estimated_funding_payment',
        "The core's estimate of the payment for one whole unit of position if the period ended now",
        'market_data.funding_payment',
      ),
      ...number(
        'estimated_funding_rate',
        'Estimated payment divided by the external TWAP.',
        'market_data.funding_rate',
      ),
      ...ofAsset(
        'estimated_internal_twap',
        'Time-weighted average of the internal prices since the start of the period',
        'market_data.internal_twap',
      ),
      ...ofAsset(
        'estimated_external_twap',
        'Time-weighted average of the external prices since the start of the period',
        'market_data.external_twap',
      ),
      ...asset,
    ],
    from: () => `from market_data
  ${withMarket('market_data')}`,
  },
  {
    name: 'v_auctions',
    meaning: 'A time in which a market was in auction.',
    columns: [
      ...market('auction_intervals'),
      ...time('start_timestamp', 'Start of the auction.', 'auction_intervals.start_timestamp'),
      ...time(
        'end_timestamp',
        'End of the auction; null while it is in progress.',
        'auction_intervals.end_timestamp',
      ),
      boolean(
        'opening_auction',
        "Whether it is the market's opening auction, or begins with it.",
        'auction_intervals.opening_auction',
      ),
    ],
    from: () => `from auction_intervals
  left join instruments on instruments.market_id = auction_intervals.market_id`,
  },
]
