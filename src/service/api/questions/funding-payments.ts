import { encodeCursor } from '#core/resources/cursor'
import { fundingPeriods } from '#core/resources/funding-periods/description'
import { type FundingPaymentsQuery, readFundingPayments } from '#core/store/readings/funding-payments'
import { type FileOptions, fileOptionsOf, MAX_FILE_ROWS, madeFile } from './csv-file.ts'
import { closedObject, listOf, nullable, valueSchema } from './node-schemas.ts'
import { cursorOf, marketIdOfPath, pageSize } from './page-request.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import { dateRangeOf, dateRangeParameters, type Parameter } from './parameters.ts'
import { madeOf, type Question } from './question.ts'

const decimal = (description: string) => ({ type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$', description })
const seq = valueSchema('integer', 'Number of the period within its market.')

const BODY = closedObject({
  fundingPayments: closedObject({
    marketId: valueSchema('marketId'),
    units: decimal('The requested position size.'),
    count: { type: 'integer', description: 'Paid periods that ended in the range.' },
    total: decimal('Sum of the amounts over the whole range.'),
    sumOfRates: decimal('Sum of the funding rates over the whole range.'),
    averageRate: nullable(
      decimal('Sum of the rates divided by the count, to 16 decimal places. Null if no period was paid.'),
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
    missing: listOf(
      seq,
      'Numbers of the periods in the range that are not stored or have no end, up to the last period that an event, a data point or market data name. If the range is open or ends after the last stored end, it includes a running period. At most 1,000.',
    ),
    payments: listOf(
      closedObject({
        seq,
        end: valueSchema('time', 'End of the period, Unix nanoseconds.'),
        fundingRate: decimal('The funding rate of the period.'),
        amount: decimal(
          "Change of the position's balance, in the smallest unit of the settlement asset. Negative if it paid.",
        ),
      }),
      'A page of the payments in the range, newest first.',
    ),
    next: nullable({ type: 'string', description: '`after` of the next request. Null on the last page.' }),
  }),
})

const PARAMETERS: readonly Parameter[] = [
  {
    name: 'after',
    type: PARAMETER_TYPES.cursor,
    description: '`next` of an earlier response: returns the payments that follow.',
  },
  ...dateRangeParameters(
    'Periods that ended at or after this time, Unix nanoseconds.',
    'Periods that ended before this time, Unix nanoseconds.',
  ),
  { name: 'first', type: PARAMETER_TYPES.pageSize, description: 'Maximum number of payments to return.' },
  {
    name: 'units',
    type: PARAMETER_TYPES.units,
    description: 'Position size in whole units. Negative for a short position.',
  },
]

const COLUMNS = { seq: 'integer', end: 'time', fundingRate: 'text', amount: 'text' } as const

const PAGING = PARAMETERS.filter(({ name }) => name === 'after' || name === 'first')

type Asked = FundingPaymentsQuery & { file: FileOptions | null }

/** Funding payments of a position on a market over a time range. */
export const fundingPaymentsQuestion: Question<Asked> = {
  path: '/api/v2/funding-payments/:marketId',
  parameters: PARAMETERS,
  check: (values, pathId) => {
    const marketId = marketIdOfPath(pathId)
    const after = values.get('after') as string | undefined
    const file = fileOptionsOf(values, PAGING)
    const limit = file === null ? pageSize('first', values.get('first') as bigint | undefined) : MAX_FILE_ROWS
    const key = after === undefined ? null : cursorOf(fundingPeriods, { marketId }, 'after', after)
    return {
      marketId,
      ...dateRangeOf(values),
      units: (values.get('units') as string | undefined) ?? '1',
      ...{ file, limit },
      after: key === null ? null : { start: key[0] as bigint, seq: key[1] as bigint },
    }
  },
  make: async (query, { reader }) => {
    const found = await reader.read(() => readFundingPayments(query))
    if (found === null) return null
    const { marketId, units } = query
    const { position, version, count, total, sumOfRates, averageRate, payments, more } = found
    const shown = payments.map((payment) => ({
      seq: payment.seq.toString(),
      end: payment.end.toString(),
      fundingRate: payment.fundingRate,
      amount: payment.amount,
    }))
    if (query.file !== null)
      return madeFile({ name: 'fundingPayments', ...query.file }, COLUMNS, { rows: shown, more }, found)
    const last = payments.at(-1)
    const node = {
      ...{ marketId, units, count, total, sumOfRates, averageRate },
      firstEnd: found.firstEnd?.toString() ?? null,
      lastEnd: found.lastEnd?.toString() ?? null,
      completeFrom: found.completeFrom?.toString() ?? null,
      missing: found.missing.map(String),
      payments: shown,
      next:
        more && last !== undefined
          ? encodeCursor(fundingPeriods, { marketId }, [last.start, last.seq])
          : null,
    }
    return madeOf({ fundingPayments: node }, position, version)
  },
  lane: () => 'report',
  // Data points and market data may name a period whose own event is missing.
  keptUntil: () => 'the next commit',
  description: {
    operationId: 'getFundingPayments',
    summary: 'Calculate the funding payments of a position over a time range',
    body: BODY,
    isFile: true,
  },
}
