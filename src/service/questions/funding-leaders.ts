import { count } from '#core/domain/words'
import { FILTERS } from '#core/model/filters'
import {
  type FundingLeadersQuery,
  LEADER_ORDERS,
  readFundingLeaders,
} from '#core/store/queries/payments/funding-leaders'
import { MAX_SUMMED_ROWS } from '#core/store/queries/payments/read-summands'
import { invalidParameter } from '../http/errors.ts'
import { SUM_SCHEMAS } from './funding-sums.ts'
import { MISSING_SCHEMAS, missingText } from './missing-rows.ts'
import { listOf, named, objectOf, valueSchema } from './node-schemas.ts'
import { checkedId, pageSize } from './page-request.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import {
  byName,
  dateRangeOf,
  dateRangeParameters,
  filterParameter,
  type ParameterValues,
} from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

const FIRST = 'pagination.first'
const DEFAULT_LEADERS = 20

/** Without the losses, which `net` is after. */
const { lossAmount: _, ...SHOWN_SUMS } = SUM_SCHEMAS

/** Who received or paid most at the ends of funding periods. */
export const fundingLeadersQuestion: Question<FundingLeadersQuery> = {
  path: '/api/v2/funding-leaders',
  parameters: byName([
    {
      ...filterParameter({ name: 'marketId', ...FILTERS.marketId }),
      description: 'Only payments of this market. Either this or `assetId` must be given.',
    },
    {
      ...filterParameter({ name: 'assetId', ...FILTERS.assetId }),
      description:
        'Only payments of the markets that settle in this asset: amounts of different ones do not add up.',
    },
    ...dateRangeParameters(
      'Payments at or after this time, Unix nanoseconds.',
      'Payments before this time, Unix nanoseconds.',
    ),
    {
      name: 'order',
      type: PARAMETER_TYPES.leaderOrder,
      description: 'By what parties are ordered, the greatest first.',
    },
    {
      name: FIRST,
      type: PARAMETER_TYPES.leaders,
      description: `Maximum number of parties to return. Default: ${DEFAULT_LEADERS}.`,
    },
  ]),
  check: (values) => {
    const size = values.get(FIRST) as bigint | undefined
    const order = values.get('order') as string | undefined
    return {
      ...marketOrAsset(values),
      ...dateRangeOf(values),
      order: LEADER_ORDERS.find((one) => one === order) ?? 'net',
      limit: size === undefined ? DEFAULT_LEADERS : pageSize(FIRST, size, PARAMETER_TYPES.leaders),
    }
  },
  render: async (query, { reader }) => {
    const answer = await reader.read(() => readFundingLeaders(query))
    if (answer === null) return null
    const { storeHead, version, parties, isTooLong } = answer
    if (isTooLong) {
      const refusal = `parsing field "dateRange": the range has more than ${count(MAX_SUMMED_ROWS)} sums of days and payments: use a shorter range`
      return { ...renderedBody({}, storeHead, null), refusal }
    }
    const leaders = answer.leaders.map(({ lossAmount: _, ...shown }) => shown)
    return renderedBody({ fundingLeaders: { parties, leaders }, ...missingText(answer) }, storeHead, version)
  },
  workload: () => ({ queue: 'report' }),
  // What is missing changes with any block.
  sourceOf: () => 'the next commit',
  description: {
    operationId: 'getFundingLeaders',
    summary: 'List the parties that received or paid most funding',
    body: objectOf({
      fundingLeaders: objectOf({
        parties: {
          type: 'integer',
          description: 'Number of parties that paid or received anything in the range.',
        },
        leaders: listOf(
          named('FundingLeader', objectOf({ partyId: valueSchema('partyId', 'The party.'), ...SHOWN_SUMS })),
          'The first of them, in the order of the request, then by id. Without `network`: what that really paid no event says. Amounts are in the smallest unit of the asset.',
        ),
      }),
      ...MISSING_SCHEMAS,
    }),
    alternatives: ['assetId', 'marketId'],
  },
}

/** @throws {ApiError} 400 unless exactly one of the two is given, or for one that is malformed. */
function marketOrAsset(
  values: ParameterValues,
): { marketId: string; assetId: null } | { marketId: null; assetId: string } {
  const idOf = (name: 'marketId' | 'assetId') => {
    const id = values.get(name) as string | undefined
    return id === undefined ? null : checkedId(name, id)
  }
  const [assetId, marketId] = [idOf('assetId'), idOf('marketId')]
  if (marketId !== null && assetId === null) return { marketId, assetId }
  if (marketId === null && assetId !== null) return { marketId, assetId }
  throw invalidParameter(
    'give either marketId or assetId: amounts of different assets do not add up, and a market has one asset',
  )
}
