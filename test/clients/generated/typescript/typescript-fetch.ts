import { Configuration, ExportsApi, MarketDataApi, MarketSummaryToJSON } from './api'
import { base, marketId, report } from './walk'

const configuration = new Configuration({ basePath: base })
const api = new MarketDataApi(configuration)

await report({
  periods: async ({ first, after, last, before }) => {
    const paging = {
      paginationFirst: first,
      paginationAfter: after,
      paginationLast: last,
      paginationBefore: before,
    }
    return (await api.listFundingPeriods({ marketId, ...paging })).fundingPeriods
  },
  series: async () => (await api.getFundingPeriodDataPointSeries({ marketId, interval: '1d' })).series,
  summaries: async () => {
    const { marketSummaries } = await api.listMarketSummaries()
    // It gives fields such as `24h` other names.
    const edges = marketSummaries.edges.map(({ node, cursor }) => ({
      node: { ...node, ...MarketSummaryToJSON(node) },
      cursor,
    }))
    return { ...marketSummaries, edges }
  },
  csv: async () => (await new ExportsApi(configuration).exportCheckpoints({ format: 'csv' })).text(),
})
