import { defineResource } from '../../model/resource.ts'
import { pointCursor } from './cursor.ts'
import { dataPointTable } from './table.ts'

/** `FundingPeriodDataPoint.Source` by number. */
export const SOURCES = ['SOURCE_UNSPECIFIED', 'SOURCE_EXTERNAL', 'SOURCE_INTERNAL'] as const

/** The numbers of the sources, as they are stored. */
export const SOURCE_NUMBERS: readonly bigint[] = SOURCES.map((_, number) => BigInt(number))

/** The data points of a market's funding periods. */
export const fundingPeriodDataPoints = defineResource({
  name: 'fundingPeriodDataPoints',
  nodeName: 'FundingPeriodDataPoint',
  summary: "List the data points of a perpetual market's funding periods",
  meaning: 'A data point of a funding period of a perpetual market.',
  path: '/api/v2/funding-periods/data-points/:marketId',
  grpcMethod: 'ListFundingPeriodDataPoints',
  tag: 2,
  cursor: pointCursor,
  key: [
    { column: 'timestamp', type: 'int64' },
    { column: 'seq', type: 'uint64' },
    { column: 'source', type: 'source' },
  ],
  scope: 'marketId',
  filters: ['source', 'seq'],
  dateRange: true,
  storage: {
    table: dataPointTable,
    // Real markets have dozens or hundreds of internal points for each external one, and an oracle may be silent for
    // months. As the source precedes the key, a page of one source reads only that source's rows.
    series: { filter: 'source', values: ['0', '1', '2'] },
    // The points of a funding period are adjacent, so its span limits how many others are read.
    span: { column: 'seq', table: 'funding_period_spans' },
    hasBlockSpans: true,
  },
  fields: [
    { name: 'marketId', meaning: 'The market.', column: 'scope', form: 'marketId' },
    { name: 'seq', meaning: 'Number of the funding period.', form: 'integer' },
    {
      name: 'dataPointType',
      meaning: 'Source of the price.',
      column: 'source',
      form: { typeName: 'DataPointSource', names: SOURCES },
    },
    {
      name: 'price',
      meaning: 'Price in the smallest unit of the settlement asset.',
      form: 'number',
    },
    { name: 'timestamp', meaning: 'Unix nanoseconds.', form: 'time' },
    {
      name: 'twap',
      meaning:
        'Time-weighted average price of the source in this period up to this point, in the smallest unit of the settlement asset.',
      form: 'number',
    },
  ],
  rowsStay: true,
  coverage: 'times by market',
})
