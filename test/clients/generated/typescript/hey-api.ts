import {
  exportCheckpoints,
  getFundingPeriodDataPointSeries,
  listFundingPeriods,
  listMarketSummaries,
} from './api'
import { client } from './api/client.gen'
import { base, marketId, report } from './walk'

client.setConfig({ baseUrl: base })
const path = { marketId }

await report({
  periods: async ({ first, after, last, before }) => {
    const query = {
      'pagination.first': first,
      'pagination.after': after,
      'pagination.last': last,
      'pagination.before': before,
    }
    return (await listFundingPeriods({ path, query, throwOnError: true })).data.fundingPeriods
  },
  series: async () =>
    (await getFundingPeriodDataPointSeries({ path, query: { interval: '1d' }, throwOnError: true })).data
      .series,
  summaries: async () => (await listMarketSummaries({ throwOnError: true })).data.marketSummaries,
  csv: async () =>
    String((await exportCheckpoints({ query: { format: 'csv' }, throwOnError: true, parseAs: 'text' })).data),
})
