import type { CoverageForm } from '../../resources/resource.ts'
import { RESOURCES } from '../../resources/resources.ts'
import { readHoldings } from '../../store/readings/holdings.ts'
import type { HoldingsQuery } from '../../store/store.ts'
import { invalidPagination } from '../http/errors.ts'
import { closedObject, orNull, valueSchema } from '../openapi/node-schemas.ts'
import { COVERAGE_PATH, coverageBody } from './coverage-body.ts'
import { decodeCoverageCursor } from './coverage-cursor.ts'
import { checkedId } from './page-request.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import { PATH_MARKET_ID, type Parameter } from './parameters.ts'
import { type JsonSchema, madeOf, type Question } from './question.ts'

/** Gaps in one answer at most, and markets in each of its lists. */
const MAX_COVERAGE_ROWS = 1_000

const PARAMETERS: readonly Parameter[] = [
  {
    name: 'after',
    type: PARAMETER_TYPES.cursor,
    description: 'The rest of an answer: its `next`.',
  },
  { ...PATH_MARKET_ID, description: 'Rows of this market alone: 64 hex digits, in any case.' },
]

const COUNT = valueSchema('integer')
const HEIGHT = COUNT
const BLOCK_RANGE = { ...closedObject({ from: HEIGHT, to: HEIGHT }), title: 'BlockRange' }
const MARKET_ID = valueSchema('marketId')
const TIME = valueSchema('time', 'Unix nanoseconds.')

const listOf = (items: JsonSchema, description: string) => ({ type: 'array', description, items })

/** What is said of a resource's rows. */
const HELD: Record<CoverageForm, JsonSchema> = {
  count: closedObject({ count: COUNT }),
  'count and block times': {
    ...closedObject({ count: COUNT, firstTimestamp: orNull(TIME), lastTimestamp: orNull(TIME) }),
    description: 'Times are those of the blocks that they came in.',
  },
  'times by market': listOf(
    closedObject({ marketId: MARKET_ID, count: COUNT, firstTimestamp: TIME, lastTimestamp: TIME }),
    'By market.',
  ),
  'blocks by market': listOf(
    closedObject({ marketId: MARKET_ID, count: COUNT, atBlock: HEIGHT }),
    'By market; `atBlock` is the block of its latest list.',
  ),
}

/** The body of `GET /api/v2/coverage`. */
export const COVERAGE_SCHEMA = closedObject({
  coverage: closedObject({
    chainId: { type: 'string' },
    blocks: closedObject({
      ranges: listOf(BLOCK_RANGE, 'Heights of blocks all of whose events are held, both ends included.'),
      gaps: listOf(
        closedObject({
          from: HEIGHT,
          to: HEIGHT,
          kind: {
            type: 'string',
            enum: ['missing', 'incomplete'],
            description: 'Whether the blocks are not there at all, or lack some of their events.',
          },
        }),
        'Heights between the first block and the last that are not held whole.',
      ),
      imported: listOf(
        BLOCK_RANGE,
        'Heights of blocks whose rows were imported from tables of the reference. Of each market, seq and source in one block the last data point is there, times have microseconds, and the order within a block is not known.',
      ),
      lastTimestamp: TIME,
    }),
    ...Object.fromEntries(RESOURCES.map(({ name, coverage }) => [name, HELD[coverage]])),
    next: {
      ...orNull({ type: 'string' }),
      description: `Null where this is all. Above ${MAX_COVERAGE_ROWS} gaps, imported ranges, or markets in a list, the answer holds the first of them, and \`after\` with this gives the next ones; lists that have ended are empty then.`,
    },
    prunedBefore: {
      ...orNull(closedObject({ timestamp: orNull(TIME), height: orNull(HEIGHT) })),
      description: 'How far old rows have been pruned: by time, by height or by both; null if none have.',
    },
  }),
})

/** What the store holds, and what it lacks. */
export const coverageQuestion: Question<HoldingsQuery> = {
  path: COVERAGE_PATH,
  parameters: PARAMETERS,
  check: (values) => {
    const given = values.get('marketId') as string | undefined
    const marketId = given === undefined ? null : checkedId('marketId', given)
    const after = values.get('after') as string | undefined
    const rest = after === undefined ? { fromHeight: 0n, afterMarket: '' } : decodeCoverageCursor(after)
    if (rest === null) {
      throw invalidPagination(
        'after is not a cursor of the coverage; allowed is the next of an earlier answer',
      )
    }
    return { marketId, ...rest, limit: MAX_COVERAGE_ROWS }
  },
  make: async (query, { reader }) => {
    const holdings = await reader.read((traits) => readHoldings(query, traits))
    if (holdings === null) return null
    const { height, timestamp } = holdings.coverage
    const position = { height: height.toString(), timestamp: timestamp.toString() }
    return madeOf(coverageBody(holdings, query), position, null)
  },
  lane: () => 'report',
  keptUntil: () => null,
  description: {
    operationId: 'getCoverage',
    summary: 'What the service holds, and what it lacks',
    body: COVERAGE_SCHEMA,
  },
}
