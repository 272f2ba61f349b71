import { CALENDAR_SPANS, type CalendarSpan } from '#core/domain/calendar'
import { count } from '#core/domain/words'
import { FILTERS } from '#core/model/filters'
import {
  type MarketFunding,
  type PartyFundingQuery,
  readPartyFunding,
} from '#core/store/queries/payments/party-funding'
import { MAX_SUMMED_ROWS } from '#core/store/queries/payments/read-summands'
import { type FileColumn, type FileOptions, fileAnswer, fileOptionsOf } from './csv-file.ts'
import { SUM_SCHEMAS } from './funding-sums.ts'
import { MISSING_SCHEMAS, missingText } from './missing-rows.ts'
import { listOf, named, objectOf, valueSchema } from './node-schemas.ts'
import { checkedId, partyIdOfPath } from './page-request.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import { byName, dateRangeOf, dateRangeParameters, filterParameter } from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

const BODY = objectOf({
  partyFunding: objectOf({
    partyId: valueSchema('partyId', 'The party.'),
    markets: listOf(
      named('MarketFunding', {
        ...objectOf({
          marketId: valueSchema(
            'marketId',
            'The market. Amounts are in the smallest unit of its settlement asset.',
          ),
          ...SUM_SCHEMAS,
          buckets: listOf(
            named(
              'FundingBucket',
              objectOf({
                start: valueSchema(
                  'time',
                  'Start of the day, of the week (a Monday) or of the month, in UTC, as Unix nanoseconds.',
                ),
                ...SUM_SCHEMAS,
              }),
            ),
            'Days, weeks or months with a payment, in time order. Absent unless an interval is given.',
          ),
        }),
        required: ['marketId', ...Object.keys(SUM_SCHEMAS)],
      }),
      'The markets in which it paid or received anything in the range, by id. Nothing is added up over markets, whose assets may differ.',
    ),
  }),
  ...MISSING_SCHEMAS,
})

const SUM_COLUMNS: readonly FileColumn[] = [
  { name: 'count', kind: 'integer' },
  { name: 'received', kind: 'text' },
  { name: 'paid', kind: 'text' },
  { name: 'net', kind: 'text' },
  { name: 'lossAmount', kind: 'text' },
]
const MARKET_COLUMN: FileColumn = { name: 'marketId', kind: 'text' }
const START_COLUMN: FileColumn = { name: 'start', kind: 'time' }

type CheckedFunding = PartyFundingQuery & { file: FileOptions | null }

/** What a party paid and received at the ends of funding periods, by market, and by day, week or month. */
export const partyFundingQuestion: Question<CheckedFunding> = {
  path: '/api/v2/party-funding/:partyId',
  parameters: byName([
    {
      ...filterParameter({ name: 'marketId', ...FILTERS.marketId }),
      description: 'Only payments of this market.',
    },
    ...dateRangeParameters(
      'Payments at or after this time, Unix nanoseconds.',
      'Payments before this time, Unix nanoseconds.',
    ),
    {
      name: 'interval',
      type: PARAMETER_TYPES.calendarSpan,
      description: 'Adds the sums of each day, week (from Monday) or month, in UTC.',
    },
  ]),
  check: (values, pathId) => {
    const marketId = values.get('marketId') as string | undefined
    const interval = values.get('interval') as string | undefined
    return {
      partyId: partyIdOfPath(pathId),
      marketId: marketId === undefined ? null : checkedId('marketId', marketId),
      ...dateRangeOf(values),
      span: CALENDAR_SPANS.find((span) => span === interval) ?? null,
      file: fileOptionsOf(values, []),
    }
  },
  render: async (query, { reader }) => {
    const answer = await reader.read(() => readPartyFunding(query))
    if (answer === null) return null
    const { storeHead, version, markets, isTooLong } = answer
    const { partyId, span, file } = query
    if (isTooLong) {
      const refusal = `parsing field "dateRange": the range has more than ${count(MAX_SUMMED_ROWS)} sums of days and payments of the party: use a shorter range, or marketId`
      return { ...renderedBody({}, storeHead, null), refusal }
    }
    if (file !== null) {
      const columns = [MARKET_COLUMN, ...(span === null ? [] : [START_COLUMN]), ...SUM_COLUMNS]
      const rows = markets.flatMap((market) => fileRows(market, span))
      return fileAnswer({ name: 'partyFunding', ...file }, columns, { rows, more: false }, answer)
    }
    const shown = markets.map(({ buckets, ...sums }) =>
      span === null
        ? sums
        : { ...sums, buckets: buckets.map(({ start, ...ofBucket }) => ({ start: `${start}`, ...ofBucket })) },
    )
    const body = { partyFunding: { partyId, markets: shown }, ...missingText(answer) }
    return renderedBody(body, storeHead, version)
  },
  workload: () => ({ queue: 'report' }),
  // What is missing changes with any block.
  sourceOf: () => 'the next commit',
  description: {
    operationId: 'getPartyFunding',
    summary: 'Add up the funding payments of a party by market, and by day, week or month',
    body: BODY,
    isFile: true,
  },
}

function fileRows({ marketId, buckets, ...sums }: MarketFunding, span: CalendarSpan | null): string[][] {
  const cells = ({ count: payments, received, paid, net, lossAmount }: Omit<typeof sums, 'start'>) => [
    `${payments}`,
    received,
    paid,
    net,
    lossAmount,
  ]
  if (span === null) return [[marketId, ...cells(sums)]]
  return buckets.map((bucket) => [marketId, `${bucket.start}`, ...cells(bucket)])
}
