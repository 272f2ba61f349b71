import { DAY } from '#core/domain/time'
import { count } from '#core/domain/words'
import { encodeCursor } from '#core/resources/cursor'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import {
  type EstimateHistoryQuery,
  LONGEST_HISTORY,
  MAX_HISTORY_POINTS,
  readEstimateHistory,
} from '#core/store/queries/estimates/funding-estimate-history'
import type { HistoricEstimate } from '#core/store/queries/estimates/period-estimates'
import { MISSING_SCHEMAS, missingText } from './missing-rows.ts'
import { listOf, named, nullable, objectOf, valueSchema } from './node-schemas.ts'
import { cursorOf, marketIdOfPath, pageSize } from './page-request.ts'
import { DEFAULT_PAGE_SIZE, PARAMETER_TYPES } from './parameter-types.ts'
import { byName, dateRangeOf, dateRangeParameters } from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

const [FIRST, AFTER] = ['pagination.first', 'pagination.after']
const LONGEST_DAYS = LONGEST_HISTORY / DAY

const BODY = objectOf({
  fundingEstimateHistory: objectOf({
    marketId: valueSchema('marketId', 'The market.'),
    estimates: listOf(
      named(
        'HistoricEstimate',
        objectOf({
          timestamp: valueSchema(
            'time',
            'Time of a data point, or of the end of the period, Unix nanoseconds.',
          ),
          seq: valueSchema('integer', 'Number of the period that ran, or ended, then.'),
          internalTwap: nullable(
            valueSchema('number', 'Time-weighted average of the internal prices of the period until then.'),
          ),
          externalTwap: nullable(
            valueSchema('number', 'Time-weighted average of the external prices of the period until then.'),
          ),
          fundingPayment: nullable(
            valueSchema(
              'number',
              'Payment per whole unit of position, had the period ended then; at its end, what was paid.',
            ),
          ),
          fundingRate: nullable(
            valueSchema('number', 'Payment divided by the external TWAP, as a decimal number.'),
          ),
          parameters: {
            type: 'string',
            enum: ['current', 'later'],
            description:
              'Only the latest parameters of a market are stored: before its latest event they may have been others, `later`.',
          },
        }),
      ),
      'In time order. Amounts are in the smallest unit of the settlement asset; null if what they follow from is not stored.',
    ),
    next: nullable({
      type: 'string',
      description: '`pagination.after` of the next request. Null if nothing is left.',
    }),
  }),
  ...MISSING_SCHEMAS,
})

/** What the periods of a market would have paid at each time of a data point, and at their ends. */
export const fundingEstimateHistoryQuestion: Question<EstimateHistoryQuery> = {
  path: '/api/v2/funding-estimates/:marketId/history',
  parameters: byName([
    ...dateRangeParameters(
      `Estimates at or after this time, Unix nanoseconds. Default: ${LONGEST_DAYS} days before the end.`,
      `Estimates before this time, Unix nanoseconds; at most ${LONGEST_DAYS} days after the start. Default: up to the last block.`,
    ),
    {
      name: FIRST,
      type: PARAMETER_TYPES.pageSize,
      description: `Maximum number of estimates to return. Default: ${DEFAULT_PAGE_SIZE}.`,
    },
    {
      name: AFTER,
      type: PARAMETER_TYPES.cursor,
      description: '`next` of an earlier response: returns the estimates that follow.',
    },
  ]),
  check: (values, pathId) => {
    const marketId = marketIdOfPath(pathId)
    const after = values.get(AFTER) as string | undefined
    const key = after === undefined ? null : cursorOf(fundingPeriodDataPoints, { marketId }, AFTER, after)
    return {
      marketId,
      ...dateRangeOf(values),
      limit: pageSize(FIRST, values.get(FIRST) as bigint | undefined),
      after: key === null ? null : { time: key[0] as bigint, seq: key[1] as bigint },
    }
  },
  render: async (query, { reader }) => {
    const answer = await reader.read(() => readEstimateHistory(query))
    if (answer === null) return null
    const { marketId } = query
    const { storeHead, version, estimates, more } = answer
    if (answer.refusal !== null)
      return { ...renderedBody({}, storeHead, null), refusal: REFUSALS[answer.refusal] }
    const last = estimates.at(-1)
    const next =
      more && last !== undefined
        ? encodeCursor(fundingPeriodDataPoints, { marketId }, [last.time, last.seq, 0n])
        : null
    const node = { marketId, estimates: estimates.map(shown), next }
    return renderedBody({ fundingEstimateHistory: node, ...missingText(answer) }, storeHead, version)
  },
  workload: () => ({ queue: 'report' }),
  // What is missing changes with any block.
  sourceOf: () => 'the next commit',
  description: {
    operationId: 'getFundingEstimateHistory',
    summary: "Get what a market's funding periods would have paid, over time",
    body: BODY,
  },
}

const REFUSALS = {
  range: `parsing field "dateRange": the range must not be longer than ${LONGEST_DAYS} days`,
  points: `parsing field "dateRange": the periods in the range have more than ${count(MAX_HISTORY_POINTS)} data points: use a shorter range`,
}

function shown({ time, seq, ...figures }: HistoricEstimate): object {
  return { timestamp: time.toString(), seq: seq.toString(), ...figures }
}
