import { encodeCursor } from '../../resources/cursor.ts'
import { fundingPeriods } from '../../resources/funding-periods/description.ts'
import { type FundingPaymentsQuery, readFundingPayments } from '../../store/readings/funding-payments.ts'
import { closedObject, orNull, valueSchema } from '../openapi/node-schemas.ts'
import { cursorOf, marketIdOfPath, pageSize } from './page-request.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import { dateRangeOf, dateRangeParameters, type Parameter } from './parameters.ts'
import { madeOf, type Question } from './question.ts'

const decimal = (description: string) => ({ type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$', description })
const seq = valueSchema('integer', 'Number of the period within its market.')

const BODY = closedObject({
  fundingPayments: closedObject({
    marketId: valueSchema('marketId'),
    units: decimal('The size of the position as it was asked for.'),
    count: { type: 'integer', description: 'Paid periods that ended within the range.' },
    total: decimal('Sum of the amounts of the whole range.'),
    sumOfRates: decimal('Sum of the funding rates of the whole range.'),
    averageRate: orNull(
      decimal('Sum of the rates divided by the count, to 16 places; null if none was paid.'),
    ),
    firstEnd: orNull(valueSchema('time', 'End of the earliest paid period of the range, Unix nanoseconds.')),
    lastEnd: orNull(valueSchema('time', 'End of the latest paid period of the range, Unix nanoseconds.')),
    completeFrom: orNull(
      valueSchema(
        'time',
        'Start of the earliest period from which all periods up to the latest are stored, Unix nanoseconds.',
      ),
    ),
    missing: {
      type: 'array',
      description:
        'Periods between the first and the last of the range that are not stored with an end: 1,000 at most.',
      items: seq,
    },
    payments: {
      type: 'array',
      description: 'One part of the payments of the range, newest first.',
      items: closedObject({
        seq,
        end: valueSchema('time', 'When the period ended, Unix nanoseconds.'),
        fundingRate: decimal('The funding rate of the period.'),
        amount: decimal(
          "How the position's balance changed, in the smallest unit of the settlement asset: negative if it paid.",
        ),
      }),
    },
    next: orNull({ type: 'string', description: 'The `after` of the next request; null at the end.' }),
  }),
})

const PARAMETERS: readonly Parameter[] = [
  {
    name: 'after',
    type: PARAMETER_TYPES.cursor,
    description: 'Payments before this place: `next` of an earlier answer.',
  },
  ...dateRangeParameters(
    'Periods that ended at this time or after it, Unix nanoseconds.',
    'Periods that ended before this time, Unix nanoseconds.',
  ),
  { name: 'first', type: PARAMETER_TYPES.pageSize, description: 'Payments in one answer, at most.' },
  {
    name: 'units',
    type: PARAMETER_TYPES.units,
    description: 'The size of the position in whole units; negative for a short one.',
  },
]

/** What a position received or paid on a market over a range of times. */
export const fundingPaymentsQuestion: Question<FundingPaymentsQuery> = {
  path: '/api/v2/funding-payments/:marketId',
  parameters: PARAMETERS,
  check: (values, pathId) => {
    const marketId = marketIdOfPath(pathId)
    const after = values.get('after') as string | undefined
    const limit = pageSize('first', values.get('first') as bigint | undefined)
    const key = after === undefined ? null : cursorOf(fundingPeriods, { marketId }, 'after', after)
    return {
      marketId,
      ...dateRangeOf(values),
      units: (values.get('units') as string | undefined) ?? '1',
      limit,
      after: key === null ? null : { start: key[0] as bigint, seq: key[1] as bigint },
    }
  },
  make: async (query, { reader }) => {
    const found = await reader.read(() => readFundingPayments(query))
    if (found === null) return null
    const { marketId, units } = query
    const { position, version, count, total, sumOfRates, averageRate, payments, more } = found
    const last = payments.at(-1)
    const node = {
      ...{ marketId, units, count, total, sumOfRates, averageRate },
      firstEnd: found.firstEnd?.toString() ?? null,
      lastEnd: found.lastEnd?.toString() ?? null,
      completeFrom: found.completeFrom?.toString() ?? null,
      missing: found.missing.map(String),
      payments: payments.map((payment) => ({
        seq: payment.seq.toString(),
        end: payment.end.toString(),
        fundingRate: payment.fundingRate,
        amount: payment.amount,
      })),
      next:
        more && last !== undefined
          ? encodeCursor(fundingPeriods, { marketId }, [last.start, last.seq])
          : null,
    }
    return madeOf({ fundingPayments: node }, position, version)
  },
  lane: () => 'report',
  keptUntil: ({ marketId }) => ({ resource: fundingPeriods.name, scope: marketId }),
  marketOf: ({ marketId }) => marketId,
  description: {
    operationId: 'getFundingPayments',
    summary: 'Get what a position received or paid on a market over a range of times',
    body: BODY,
  },
}
