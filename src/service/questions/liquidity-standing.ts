import { count } from '#core/domain/words'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import {
  MOST_STANDINGS,
  readStandings,
  type StandingQuery,
} from '#core/store/queries/standings/liquidity-standing'
import { MISSING_SCHEMAS, missingText } from './missing-rows.ts'
import { listOf, named, nullable, objectOf, valueSchema } from './node-schemas.ts'
import { selectionOf } from './page-request.ts'
import { filterParametersOf } from './parameters.ts'
import { type JsonSchema, type Question, renderedBody } from './question.ts'

const time = (description: string): JsonSchema => nullable(valueSchema('time', description))
const fraction = (description: string): JsonSchema => nullable(valueSchema('number', description))

const STANDING = named(
  'ProviderStanding',
  objectOf({
    marketId: valueSchema('marketId', 'The market.'),
    partyId: valueSchema('partyId', 'The party.'),
    epoch: nullable(
      valueSchema('integer', 'Number of the running epoch. Null if it is not known which one runs.'),
    ),
    epochStart: time('Start of the epoch, Unix nanoseconds.'),
    epochExpectedEnd: time(
      'Expected end of the epoch, Unix nanoseconds: as long after its expiry as the epoch before ended after its own, and never before `at`. Null if the epoch before is not stored.',
    ),
    at: time(
      'Time of the market data with these figures, Unix nanoseconds. Null if the data have none of this provider.',
    ),
    timeOnBook: fraction(
      'Fraction of the epoch until `at` during which its orders covered its commitment. Null if the core has sent none in this epoch.',
    ),
    minimum: fraction(
      'Fraction of the epoch that it must be on the book: `commitmentMinTimeFraction` of the market. Null if no event of the market has it.',
    ),
    elapsed: fraction(
      'Fraction of the epoch that has passed at `at`. In the epoch in which a market leaves its opening auction, the core counts from then on.',
    ),
    ifLeft: fraction('Time on book of the whole epoch if the provider left the book at `at`.'),
    stillNeeded: fraction(
      'Fraction of the remaining time that it must be on the book to reach the minimum: 0 if it has, above 1 if it cannot. Null if no time remains.',
    ),
    feePenaltyIfLeft: fraction(
      'Fraction of its fees that it would lose for the epoch if it left the book at `at`: the greater of the penalty for `ifLeft` and the mean of the earlier penalties that still count.',
    ),
    feePenaltyLastEpoch: fraction(
      'Fraction of its fees lost for the last epoch. Null if the core has sent none.',
    ),
  }),
)

/** How liquidity providers stand in the running epoch. */
export const liquidityStandingQuestion: Question<StandingQuery> = {
  path: '/api/v2/liquidity/standing',
  parameters: filterParametersOf(liquidityProviders, 'list'),
  check: (values) => {
    const { marketId = null, partyId = null } = selectionOf(liquidityProviders, 'list', null, values)
    return { marketId, partyId }
  },
  render: async (query, { reader }) => {
    const answer = await reader.read(() => readStandings(query))
    if (answer === null) return null
    const { storeHead, version, standings, areTooMany } = answer
    if (areTooMany) {
      const refusal = `there are more than ${count(MOST_STANDINGS)} providers: give marketId and partyId`
      return { ...renderedBody({}, storeHead, null), refusal }
    }
    return renderedBody({ liquidityStanding: standings, ...missingText(answer) }, storeHead, version)
  },
  workload: () => ({ queue: 'report' }),
  // It follows from epochs, auctions and market data, too, and every block has market data.
  sourceOf: () => 'the next commit',
  description: {
    operationId: 'getLiquidityStanding',
    summary: 'Get how liquidity providers stand in the running epoch',
    body: objectOf({
      liquidityStanding: listOf(STANDING, 'Each live provision, by market and party.'),
      ...MISSING_SCHEMAS,
    }),
    filtersOf: liquidityProviders,
  },
}
