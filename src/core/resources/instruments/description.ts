import { MARKET_STATES, PRODUCTS, TRADING_MODES } from '../../events/market-enums.ts'
import { defineResource } from '../../model/resource.ts'
import { assetTable, instrumentTable, instrumentTermTable } from './table.ts'

/** Names and decimals of each market. */
export const instruments = defineResource({
  name: 'instruments',
  nodeName: 'Instrument',
  summary: 'List the names, decimals and terms of markets',
  meaning: 'Name, product, decimals and terms of a market.',
  path: '/api/v2/instruments',
  tag: 5,
  cursor: 'i',
  key: [{ column: 'market_id', type: 'id' }],
  filters: ['marketId'],
  storage: {
    table: 'instrument_rows',
    from: ({
      latest,
      withRowsOf,
    }) => `select instruments.market_id, code, instruments.name, product, quote_name, decimal_places,
        position_decimal_places, state, trading_mode, settlement_asset, assets.symbol as asset_symbol,
        assets.name as asset_name, assets.decimals as asset_decimals, interest_rate, clamp_lower_bound,
        clamp_upper_bound, scaling_factor, rate_lower_bound, rate_upper_bound, schedule_initial, schedule_every,
        sla_price_range, sla_min_time_fraction, sla_hysteresis_epochs, sla_competition_factor,
        ${latest('instruments', 'assets')}
      from instruments left join assets on assets.asset_id = instruments.settlement_asset
        left join ${withRowsOf('instrument_terms', 'instruments')} on instrument_terms.market_id = instruments.market_id`,
    derivedFrom: [instrumentTable.name, instrumentTermTable.name, assetTable.name],
  },
  fields: [
    { name: 'marketId', meaning: 'The market.', form: 'marketId' },
    { name: 'code', meaning: 'Short name, such as `BTC/PERP`.', form: 'text' },
    { name: 'name', meaning: 'Long name.', form: 'text' },
    {
      name: 'product',
      meaning: 'Kind of product.',
      form: { typeName: 'Product', names: PRODUCTS },
    },
    { name: 'quoteName', meaning: 'Name of the unit of the prices.', form: 'text' },
    {
      name: 'decimalPlaces',
      meaning: 'Decimals of order and trade prices.',
      form: 'integer',
    },
    {
      name: 'positionDecimalPlaces',
      meaning: 'Decimals of position sizes. May be negative.',
      form: 'signed',
    },
    {
      name: 'state',
      meaning: 'State of the market.',
      form: { typeName: 'MarketState', names: MARKET_STATES },
    },
    {
      name: 'tradingMode',
      meaning: 'Trading mode.',
      form: { typeName: 'TradingMode', names: TRADING_MODES },
    },
    {
      name: 'settlementAsset',
      meaning:
        'Asset whose decimals apply to the prices and TWAPs of data points and periods and to the amounts of providers. For a spot market, the quote asset.',
      ifNull: 'null',
      form: {
        typeName: 'SettlementAsset',
        exportPrefix: 'settlementAsset',
        object: [
          { name: 'id', meaning: 'Its id.', column: 'settlement_asset', form: 'text' },
          {
            name: 'symbol',
            meaning: 'Its symbol; null if the store has no event of the asset.',
            column: 'asset_symbol',
            form: 'text',
            ifNull: 'null',
          },
          { name: 'name', meaning: 'Its name.', column: 'asset_name', form: 'text', ifNull: 'null' },
          {
            name: 'decimals',
            meaning: 'Decimals of its amounts.',
            column: 'asset_decimals',
            form: 'integer',
            ifNull: 'null',
          },
        ],
      },
    },
    {
      name: 'funding',
      meaning: 'Funding parameters, as in the event. Null unless the market is perpetual.',
      column: 'interest_rate',
      ifNull: 'null',
      form: {
        typeName: 'FundingParameters',
        object: [
          {
            name: 'interestRate',
            meaning: 'Interest rate per year. Empty means 0.',
            form: 'text',
          },
          {
            name: 'clampLowerBound',
            meaning: 'Minimum interest component, as a fraction of the external TWAP.',
            form: 'text',
          },
          {
            name: 'clampUpperBound',
            meaning: 'Maximum interest component, as a fraction of the external TWAP.',
            form: 'text',
          },
          {
            name: 'scalingFactor',
            meaning: 'Factor that payments are multiplied by.',
            form: 'text',
            ifNull: 'null',
          },
          {
            name: 'lowerBound',
            meaning: 'Lowest rate.',
            column: 'rate_lower_bound',
            form: 'text',
            ifNull: 'null',
          },
          {
            name: 'upperBound',
            meaning: 'Highest rate.',
            column: 'rate_upper_bound',
            form: 'text',
            ifNull: 'null',
          },
          {
            name: 'schedule',
            meaning:
              'Due times of payments: `initial` + n × `every`, for n = 0, 1, 2, ... Null unless the market has exactly one trigger.',
            column: 'schedule_every',
            ifNull: 'null',
            form: {
              typeName: 'FundingSchedule',
              exportPrefix: 'schedule',
              object: [
                {
                  name: 'initial',
                  meaning: 'First due time, Unix nanoseconds. Null if unset.',
                  column: 'schedule_initial',
                  form: 'time',
                  ifNull: 'null',
                },
                {
                  name: 'every',
                  meaning: 'Interval in nanoseconds.',
                  column: 'schedule_every',
                  form: 'integer',
                },
              ],
            },
          },
        ],
      },
    },
    {
      name: 'sla',
      meaning: 'Service level required of liquidity providers. Null if unset or all zero.',
      column: 'sla_price_range',
      ifNull: 'null',
      form: {
        typeName: 'SlaParameters',
        exportPrefix: 'sla',
        object: [
          {
            name: 'priceRange',
            meaning:
              'Maximum distance from the mid price at which orders count as liquidity, as a fraction of the mid price.',
            column: 'sla_price_range',
            form: 'text',
          },
          {
            name: 'commitmentMinTimeFraction',
            meaning: 'Minimum fraction of an epoch during which a provider must offer its commitment.',
            column: 'sla_min_time_fraction',
            form: 'text',
          },
          {
            name: 'performanceHysteresisEpochs',
            meaning: 'Number of earlier epochs that count towards the fee penalty.',
            column: 'sla_hysteresis_epochs',
            form: 'integer',
          },
          {
            name: 'slaCompetitionFactor',
            meaning: 'Maximum fraction of fees lost as a penalty.',
            form: 'text',
          },
        ],
      },
    },
  ],
  coverage: 'count',
})
