import { fundingEstimate } from './funding-estimates.ts'
import { fundingPeriodDataPoints } from './funding-period-data-points/description.ts'
import { fundingPeriods } from './funding-periods/description.ts'
import { instruments } from './instruments/description.ts'
import { marketData } from './market-data/description.ts'
import { rateAverages } from './rate-averages.ts'
import { defineResource, type KeyColumn } from './resource.ts'
import { textCursor } from './text-cursor.ts'

const key: readonly KeyColumn[] = [{ column: 'market_id', type: 'id', filter: 'marketId' }]

/**
 * What people look at first of each market, in one list: made of the nodes of other operations, which store/market-summaries.ts
 * gathers. It has pages like a resource, and neither streams nor exports: those of its parts say the same.
 */
export const marketSummaries = defineResource({
  name: 'marketSummaries',
  nodeName: 'MarketSummary',
  summary: 'List the markets, each with what the other operations say of it now',
  meaning: 'A market that any row names: the nodes of the other operations, null where there is none.',
  path: '/api/v2/market-summaries',
  tag: 6,
  cursor: textCursor('m', key),
  key,
  scope: null,
  filters: ['marketId'],
  needsFilter: false,
  dateRange: false,
  storage: {
    table: 'markets',
    madeOf: ['market_data'],
    columns: [
      { name: 'market_id', type: 'line' },
      { name: 'instrument', type: 'json' },
      { name: 'running_period', type: 'json' },
      { name: 'last_paid_period', type: 'json' },
      { name: 'estimate', type: 'json' },
      { name: 'last_external_point', type: 'json' },
      { name: 'last_internal_point', type: 'json' },
      { name: 'market_data', type: 'json' },
      { name: 'averages', type: 'json' },
      { name: 'providers', type: 'int64' },
    ],
    arrivals: 'all rows',
  },
  fields: [
    { name: 'marketId', meaning: 'The market.', column: 'market_id', form: 'marketId' },
    {
      name: 'instrument',
      meaning: 'What it is called; null where no market event of it is held.',
      column: 'instrument',
      form: { nodeOf: instruments.nodeName },
      ifNull: 'null',
    },
    {
      name: 'runningPeriod',
      meaning: 'Its latest funding period, where that has no end.',
      column: 'running_period',
      form: { nodeOf: fundingPeriods.nodeName },
      ifNull: 'null',
    },
    {
      name: 'lastPaidPeriod',
      meaning: 'Its last funding period with a payment.',
      column: 'last_paid_period',
      form: { nodeOf: fundingPeriods.nodeName },
      ifNull: 'null',
    },
    {
      name: 'estimate',
      meaning: 'What the running period would pay if it ended now, as the network says.',
      column: 'estimate',
      form: { nodeOf: fundingEstimate.nodeName },
      ifNull: 'null',
    },
    {
      name: 'lastExternalPoint',
      meaning: "The latest data point of the oracle's prices.",
      column: 'last_external_point',
      form: { nodeOf: fundingPeriodDataPoints.nodeName },
      ifNull: 'null',
    },
    {
      name: 'lastInternalPoint',
      meaning: "The latest data point of the market's own mark prices.",
      column: 'last_internal_point',
      form: { nodeOf: fundingPeriodDataPoints.nodeName },
      ifNull: 'null',
    },
    {
      name: 'marketData',
      meaning:
        'Its latest market data; null if the store holds none. The state and mode of `instrument` are older.',
      column: 'market_data',
      form: { nodeOf: marketData.nodeName },
      ifNull: 'null',
    },
    {
      name: 'averages',
      meaning: 'Its average funding rates per 8 hours.',
      column: 'averages',
      form: { nodeOf: rateAverages.nodeName },
    },
    {
      name: 'providers',
      meaning: 'How many liquidity providers it has.',
      column: 'providers',
      form: 'integer',
    },
  ],
  rowsStay: false,
  coverage: 'count',
})
