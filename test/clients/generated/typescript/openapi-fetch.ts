import createClient from 'openapi-fetch'
import type { paths } from './api'
import { base, marketId, report } from './walk'

const client = createClient<paths>({ baseUrl: base })
const path = { marketId }

await report({
  periods: async ({ first, after, last, before }) => {
    const query = {
      'pagination.first': first,
      'pagination.after': after,
      'pagination.last': last,
      'pagination.before': before,
    }
    const { data, error } = await client.GET('/api/v2/funding-periods/{marketId}', {
      params: { path, query },
    })
    if (data === undefined) throw new Error(error.message)
    return data.fundingPeriods
  },
  series: async () => {
    const query = { interval: '1d' } as const
    const address = '/api/v2/series/funding-period-data-points/{marketId}'
    return (await client.GET(address, { params: { path, query } })).data!.series
  },
  summaries: async () => (await client.GET('/api/v2/market-summaries')).data!.marketSummaries,
  csv: async () => {
    const params = { query: { format: 'csv' } } as const
    const { data } = await client.GET('/api/v2/export/checkpoints', { params, parseAs: 'text' })
    return data!
  },
})
