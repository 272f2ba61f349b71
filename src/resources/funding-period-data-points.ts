import type { Resource } from './resource.ts'

/** `FundingPeriodDataPoint.Source` by number. */
export const SOURCES = ['SOURCE_UNSPECIFIED', 'SOURCE_EXTERNAL', 'SOURCE_INTERNAL'] as const

/**
 * The data points of a market's funding periods; a row is `[timestamp, seq, source, price, twap]`. Prices and
 * TWAPs are decimal numbers (checked on their way in), so they need no escaping.
 */
export const fundingPeriodDataPoints: Resource = {
  name: 'fundingPeriodDataPoints',
  bodyField: 'fundingPeriodDataPoints',
  path: '/api/v2/funding-periods/data-points/:marketId',
  cursorTag: 2,
  key: [
    { column: 'timestamp', type: 'int64' },
    { column: 'seq', type: 'uint64' },
    { column: 'source', type: 'source' },
  ],
  scope: 'marketId',
  filters: ['source', 'seq'],
  dateRange: true,
  node: ([timestamp, seq, source, price, twap], { marketId }) =>
    `{"marketId":"${marketId}","seq":"${seq}","dataPointType":"${SOURCES[source as number]}","price":"${price}","timestamp":"${timestamp}","twap":"${twap}"}`,
}
