import { defineResource } from '../model/resource.ts'
import { fundingEstimate } from './funding-estimates.ts'
import { fundingPeriodDataPoints } from './funding-period-data-points/description.ts'
import { fundingPeriods } from './funding-periods/description.ts'
import { instruments } from './instruments/description.ts'
import { marketData } from './market-data/description.ts'
import { marketDataTable } from './market-data/table.ts'
import { rateAverages } from './rate-averages.ts'

/**
 * The most important values of each market in one list: the nodes of other operations, which
 * store/queries/summaries collects. It has pages like a resource and a stream of its state, but no exports.
 */
export const marketSummaries = defineResource({
  name: 'marketSummaries',
  nodeName: 'MarketSummary',
  summary: 'List the markets with a summary of each',
  meaning:
    'A market that appears in any list, with its current nodes from the other lists; null if a list has none.',
  path: '/api/v2/market-summaries',
  tag: 6,
  cursor: 'm',
  key: [{ column: 'market_id', type: 'id' }],
  filters: ['marketId'],
  storage: {
    table: 'markets',
    derivedFrom: [marketDataTable.name],
  },
  fields: [
    { name: 'marketId', meaning: 'The market.', form: 'marketId' },
    {
      name: 'instrument',
      meaning: 'Name and decimals; null if the store has no market event for it.',
      form: { nodeOf: instruments.nodeName },
      ifNull: 'null',
    },
    {
      name: 'runningPeriod',
      meaning: 'The latest funding period; null if it has ended, or if later events name a later one.',
      form: { nodeOf: fundingPeriods.nodeName },
      ifNull: 'null',
    },
    {
      name: 'lastPaidPeriod',
      meaning: 'The last paid funding period.',
      form: { nodeOf: fundingPeriods.nodeName },
      ifNull: 'null',
    },
    {
      name: 'estimate',
      meaning: 'Estimated payment if the running period ended now, as published by the network.',
      form: { nodeOf: fundingEstimate.nodeName },
      ifNull: 'null',
    },
    {
      name: 'lastExternalPoint',
      meaning: 'Latest data point of the external price.',
      form: { nodeOf: fundingPeriodDataPoints.nodeName },
      ifNull: 'null',
    },
    {
      name: 'lastInternalPoint',
      meaning: 'Latest data point of the internal price.',
      form: { nodeOf: fundingPeriodDataPoints.nodeName },
      ifNull: 'null',
    },
    {
      name: 'marketData',
      meaning: 'Latest market data; null if none are stored. Newer than the state and mode of `instrument`.',
      form: { nodeOf: marketData.nodeName },
      ifNull: 'null',
    },
    {
      name: 'averages',
      meaning: 'Average funding rates per 8 hours.',
      form: { nodeOf: rateAverages.nodeName },
    },
    {
      name: 'providers',
      meaning: 'Number of liquidity providers.',
      form: 'integer',
    },
  ],
  coverage: 'count',
})
