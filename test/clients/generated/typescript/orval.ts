import {
  exportCheckpoints,
  getFundingPeriodDataPointSeries,
  listFundingPeriods,
  listMarketSummaries,
} from './api'
import { marketId, report } from './walk'

await report({
  periods: async ({ first, after, last, before }) => {
    const answer = await listFundingPeriods(marketId, {
      'pagination.first': first,
      'pagination.after': after,
      'pagination.last': last,
      'pagination.before': before,
    })
    if (answer.status !== 200) throw new Error(`${answer.status}`)
    return answer.data.fundingPeriods
  },
  series: async () => {
    const answer = await getFundingPeriodDataPointSeries(marketId, { interval: '1d' })
    if (answer.status !== 200) throw new Error(`${answer.status}`)
    return answer.data.series
  },
  summaries: async () => {
    const answer = await listMarketSummaries()
    if (answer.status !== 200) throw new Error(`${answer.status}`)
    return answer.data.marketSummaries
  },
  csv: async () => {
    const answer = await exportCheckpoints({ format: 'csv' })
    return new Response((answer as unknown as { stream: Response }).stream.body).text()
  },
})
