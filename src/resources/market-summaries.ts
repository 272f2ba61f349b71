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
  summary: 'List the markets with a summary of each',
  meaning:
    'A market that appears in any list, with its current nodes from the other lists; null if a list has none.',
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
      meaning: 'Name and decimals; null if the store has no market event for it.',
      column: 'instrument',
      form: { nodeOf: instruments.nodeName },
      ifNull: 'null',
    },
    {
      name: 'runningPeriod',
      meaning: 'The latest funding period; null if it has ended.',
      column: 'running_period',
      form: { nodeOf: fundingPeriods.nodeName },
      ifNull: 'null',
    },
    {
      name: 'lastPaidPeriod',
      meaning: 'The last paid funding period.',
      column: 'last_paid_period',
      form: { nodeOf: fundingPeriods.nodeName },
      ifNull: 'null',
    },
    {
      name: 'estimate',
      meaning: 'Estimated payment if the current period ended now, as published by the network.',
      column: 'estimate',
      form: { nodeOf: fundingEstimate.nodeName },
      ifNull: 'null',
    },
    {
      name: 'lastExternalPoint',
      meaning: 'Latest data point of the oracle.',
      column: 'last_external_point',
      form: { nodeOf: fundingPeriodDataPoints.nodeName },
      ifNull: 'null',
    },
    {
      name: 'lastInternalPoint',
      meaning: "Latest data point of the market's mark price.",
      column: 'last_internal_point',
      form: { nodeOf: fundingPeriodDataPoints.nodeName },
      ifNull: 'null',
    },
    {
      name: 'marketData',
      meaning: 'Latest market data; null if none are stored. Newer than the state and mode of `instrument`.',
      column: 'market_data',
      form: { nodeOf: marketData.nodeName },
      ifNull: 'null',
    },
    {
      name: 'averages',
      meaning: 'Average funding rates per 8 hours.',
      column: 'averages',
      form: { nodeOf: rateAverages.nodeName },
    },
    {
      name: 'providers',
      meaning: 'Number of liquidity providers.',
      column: 'providers',
      form: 'integer',
    },
  ],
  rowsStay: false,
  coverage: 'count',
})
