import { INTERVALS } from '#core/domain/intervals'
import type { Resource } from '#core/model/resource'
import { textCursor } from '#core/model/text-cursor'
import { marketSummaries } from '#core/resources/market-summaries'
import {
  type FundingRatesQuery,
  MAX_RATE_BUCKETS,
  readFundingRates,
} from '#core/store/queries/periods/funding-rates'
import { type FileColumn, type FileOptions, fileAnswer, fileOptionsOf } from './csv-file.ts'
import { listOf, named, objectOf, pageSchema, valueSchema } from './node-schemas.ts'
import { pageBody } from './page-body.ts'
import { type CheckedPage, pageRequest } from './page-request.ts'
import { MAX_PAGE_SIZE, PARAMETER_TYPES, RATE_INTERVALS } from './parameter-types.ts'
import {
  byName,
  dateRangeOf,
  dateRangeParameters,
  PAGINATION_PARAMETERS,
  parametersOf,
} from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

/** The markets in pages: those of their summaries, with cursors of their own, and rows of a market and its node. */
const LIST: Resource = {
  ...marketSummaries,
  name: 'fundingRates',
  bodyKey: 'fundingRates',
  cursor: textCursor('r', marketSummaries.key),
  node: ([, node]) => String(node),
}

const BODY = pageSchema(
  'fundingRates',
  'MarketFundingRates',
  named(
    'MarketFundingRates',
    objectOf({
      marketId: valueSchema('marketId', 'The market.'),
      interval: PARAMETER_TYPES.rateInterval.schema,
      buckets: listOf(
        named(
          'FundingRateBucket',
          objectOf({
            start: valueSchema('time', 'Start of the bucket, Unix nanoseconds: a multiple of its length.'),
            count: { type: 'integer', description: 'Paid periods that ended in the bucket.' },
            sumOfRates: valueSchema('number', 'Sum of their funding rates.'),
          }),
        ),
        'Buckets in which a paid period ended, in time order.',
      ),
    }),
  ),
)

const RATE_COLUMNS: readonly FileColumn[] = [
  { name: 'marketId', kind: 'text' },
  { name: 'start', kind: 'time' },
  { name: 'count', kind: 'integer' },
  { name: 'sumOfRates', kind: 'text' },
]

/** A {@link FundingRatesQuery} without its page's resource, which cannot be sent between threads. */
type CheckedRates = Omit<FundingRatesQuery, 'page'> & {
  page: CheckedPage
  file: FileOptions | null
}

/** Funding rates of all markets over time, to be compared. */
export const fundingRatesQuestion: Question<CheckedRates> = {
  path: '/api/v2/funding-rates',
  parameters: byName([
    ...parametersOf(LIST),
    ...dateRangeParameters(
      'Periods that ended at or after this time, Unix nanoseconds. Default: 30 days (`1d`) or 7 days (`8h`) before the end. The range is widened to whole buckets.',
      'Periods that ended before this time, Unix nanoseconds. Default: up to the last block.',
    ),
    { name: 'interval', type: PARAMETER_TYPES.rateInterval, description: 'Length of a bucket.' },
  ]),
  check: (values, pathId) => {
    const page = pageRequest(LIST, pathId, values)
    const file = fileOptionsOf(values, PAGINATION_PARAMETERS)
    if (file !== null) page.limit = MAX_PAGE_SIZE
    const name = (values.get('interval') as string | undefined) ?? '1d'
    return {
      page,
      file,
      ...dateRangeOf(values),
      interval: INTERVALS.find((interval) => interval.name === name)!,
      usualLength: RATE_INTERVALS.get(name)!,
    }
  },
  render: async (checked, { reader }) => {
    const { interval } = checked
    const page = { ...checked.page, resource: LIST }
    const rates = await reader.read(() => readFundingRates({ ...checked, page }))
    if (rates === null) return null
    const { storeHead, version, markets, more, isTooLong } = rates
    if (isTooLong) {
      const refusal = `parsing field "dateRange": the range touches more than ${MAX_RATE_BUCKETS} buckets of ${interval.name}: use a shorter range or a longer interval`
      return { ...renderedBody({}, storeHead, null), refusal }
    }
    if (checked.file !== null) {
      const rows = markets.flatMap(({ marketId, buckets }) =>
        buckets.map(({ start, count, sumOfRates }) => [marketId, `${start}`, `${count}`, sumOfRates]),
      )
      return fileAnswer({ name: LIST.name, ...checked.file }, RATE_COLUMNS, { rows, more }, rates)
    }
    const rows = markets.map(({ marketId, buckets }) => {
      const shown = buckets.map(({ start, ...sums }) => ({ start: start.toString(), ...sums }))
      return [marketId, JSON.stringify({ marketId, interval: interval.name, buckets: shown })]
    })
    return renderedBody(pageBody(page, { ...rates, rows, edges: null }), storeHead, version)
  },
  workload: () => ({ queue: 'report' }),
  sourceOf: () => 'the next commit',
  description: {
    operationId: 'getFundingRates',
    summary: 'Sum funding rates of markets by day or by 8 hours',
    body: BODY,
    isFile: true,
  },
}
