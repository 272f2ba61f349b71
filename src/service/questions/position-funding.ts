import { encodeCursor } from '#core/resources/cursor'
import { fundingPeriods } from '#core/resources/funding-periods/description'
import { type PositionFundingQuery, readPositionFunding } from '#core/store/queries/periods/position-funding'
import { type FileColumn, type FileOptions, fileAnswer, fileOptionsOf, MAX_FILE_ROWS } from './csv-file.ts'
import { listOf, named, nullable, objectOf, valueSchema } from './node-schemas.ts'
import { cursorOf, marketIdOfPath, pageSize } from './page-request.ts'
import { DEFAULT_PAGE_SIZE, PARAMETER_TYPES } from './parameter-types.ts'
import { dateRangeOf, dateRangeParameters, type Parameter } from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

const decimalSchema = (description: string) => ({
  type: 'string',
  pattern: '^-?[0-9]+(\\.[0-9]+)?$',
  description,
})
const seq = valueSchema('integer', 'Number of the period within its market.')

/** Of a total, which only an answer without `pagination.after` has. */
const LATER = 'Null with `pagination.after`.'

const BODY = objectOf({
  positionFunding: objectOf({
    marketId: valueSchema('marketId'),
    units: decimalSchema('The requested position size.'),
    count: nullable({ type: 'integer', description: `Paid periods that ended in the range. ${LATER}` }),
    total: nullable(decimalSchema(`Sum of the amounts over the whole range. ${LATER}`)),
    sumOfRates: nullable(decimalSchema(`Sum of the funding rates over the whole range. ${LATER}`)),
    averageRate: nullable(
      decimalSchema(
        'Sum of the rates divided by the count, to 16 decimal places. Null if no period was paid.',
      ),
    ),
    firstEnd: nullable(
      valueSchema('time', 'End of the earliest paid period in the range, Unix nanoseconds.'),
    ),
    lastEnd: nullable(valueSchema('time', 'End of the latest paid period in the range, Unix nanoseconds.')),
    completeFrom: nullable(
      valueSchema(
        'time',
        'Start of the earliest period from which all periods are stored up to the last known one, Unix nanoseconds. Null if there is none.',
      ),
    ),
    missing: nullable(
      listOf(
        seq,
        'Numbers of the periods in the range that are not stored or have no end, up to the last period that an event, a data point or market data name. If the range is open or ends after the last stored end, it includes a running period. At most 1,000.',
      ),
    ),
    payments: listOf(
      named(
        'PositionPayment',
        objectOf({
          seq,
          end: valueSchema('time', 'End of the period, Unix nanoseconds.'),
          fundingRate: decimalSchema('The funding rate of the period.'),
          amount: decimalSchema(
            "Change of the position's balance, in the smallest unit of the settlement asset. Negative if it paid.",
          ),
        }),
      ),
      'A page of the payments in the range, newest first.',
    ),
    next: nullable({
      type: 'string',
      description:
        '`pagination.after` of the next request. Null if nothing is left, or no payment was requested.',
    }),
  }),
})

const [FIRST, AFTER] = ['pagination.first', 'pagination.after']

const POSITION_PARAMETERS: readonly Parameter[] = [
  ...dateRangeParameters(
    'Periods that ended at or after this time, Unix nanoseconds.',
    'Periods that ended before this time, Unix nanoseconds.',
  ),
  {
    name: FIRST,
    type: PARAMETER_TYPES.partSize,
    description: `Maximum number of payments to return; 0: totals alone. Default: ${DEFAULT_PAGE_SIZE}.`,
  },
  {
    name: AFTER,
    type: PARAMETER_TYPES.cursor,
    description: '`next` of an earlier response: returns the payments that follow, without totals.',
  },
  {
    name: 'units',
    type: PARAMETER_TYPES.units,
    description: 'Position size in whole units. Negative for a short position.',
  },
]

const PAID_PERIOD_COLUMNS: readonly FileColumn[] = [
  { name: 'seq', kind: 'integer' },
  { name: 'end', kind: 'time' },
  { name: 'fundingRate', kind: 'text' },
  { name: 'amount', kind: 'text' },
]

const PAGING = POSITION_PARAMETERS.filter(({ name }) => name === AFTER || name === FIRST)

type CheckedFunding = PositionFundingQuery & { file: FileOptions | null }

/** Funding payments of a position on a market over a time range. */
export const positionFundingQuestion: Question<CheckedFunding> = {
  path: '/api/v2/position-funding/:marketId',
  parameters: POSITION_PARAMETERS,
  check: (values, pathId) => {
    const marketId = marketIdOfPath(pathId)
    const after = values.get(AFTER) as string | undefined
    const file = fileOptionsOf(values, PAGING)
    const size = values.get(FIRST) as bigint | undefined
    const limit =
      file !== null ? MAX_FILE_ROWS : size === 0n ? 0 : pageSize(FIRST, size, PARAMETER_TYPES.partSize)
    const key = after === undefined ? null : cursorOf(fundingPeriods, { marketId }, AFTER, after)
    return {
      marketId,
      ...dateRangeOf(values),
      units: (values.get('units') as string | undefined) ?? '1',
      file,
      limit,
      after: key === null ? null : { start: key[0] as bigint, seq: key[1] as bigint },
    }
  },
  render: async (query, { reader }) => {
    const answer = await reader.read(() => readPositionFunding(query))
    if (answer === null) return null
    const { marketId, units } = query
    const { storeHead, version, totals, payments, more } = answer
    const shown = payments.map((payment) => ({
      seq: payment.seq.toString(),
      end: payment.end.toString(),
      fundingRate: payment.fundingRate,
      amount: payment.amount,
    }))
    if (query.file !== null) {
      const rows = shown.map(({ seq, end, fundingRate, amount }) => [seq, end, fundingRate, amount])
      return fileAnswer(
        { name: 'positionFunding', ...query.file },
        PAID_PERIOD_COLUMNS,
        { rows, more },
        answer,
      )
    }
    const last = payments.at(-1)
    const node = {
      marketId,
      units,
      count: totals?.count ?? null,
      total: totals?.total ?? null,
      sumOfRates: totals?.sumOfRates ?? null,
      averageRate: totals?.averageRate ?? null,
      firstEnd: totals?.firstEnd?.toString() ?? null,
      lastEnd: totals?.lastEnd?.toString() ?? null,
      completeFrom: totals?.completeFrom?.toString() ?? null,
      missing: totals?.missing.map(String) ?? null,
      payments: shown,
      next:
        more && last !== undefined
          ? encodeCursor(fundingPeriods, { marketId }, [last.start, last.seq])
          : null,
    }
    return renderedBody({ positionFunding: node }, storeHead, version)
  },
  workload: () => ({ queue: 'report' }),
  // Data points and market data may name a period whose own event is missing.
  sourceOf: () => 'the next commit',
  description: {
    operationId: 'getPositionFunding',
    summary: 'Calculate the funding payments of a position over a time range',
    body: BODY,
    isFile: true,
  },
}
