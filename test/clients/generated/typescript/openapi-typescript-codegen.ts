import { ExportsService, MarketDataService, OpenAPI } from './api'
import { base, marketId, report } from './walk'

OpenAPI.BASE = base
const none = undefined

await report({
  periods: async ({ first, after, last, before }) =>
    (await MarketDataService.listFundingPeriods(marketId, none, none, after, before, first, last))
      .fundingPeriods,
  series: async () =>
    (await MarketDataService.getFundingPeriodDataPointSeries(marketId, none, none, none, '1d')).series,
  summaries: async () => (await MarketDataService.listMarketSummaries()).marketSummaries,
  csv: async () => String(await ExportsService.exportCheckpoints('csv')),
})
