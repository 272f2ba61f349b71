import type { CoverageForm } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { type ContentsQuery, readStoreContents } from '#core/store/queries/contents/store-contents'
import { invalidPagination } from '../http/errors.ts'
import { COVERAGE_PATH, coverageBody } from './coverage-body.ts'
import { decodeCoverageCursor } from './coverage-cursor.ts'
import { listOf, named, nullable, objectOf, valueSchema } from './node-schemas.ts'
import { checkedId } from './page-request.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import { PATH_MARKET_ID, type Parameter } from './parameters.ts'
import { type JsonSchema, type Question, renderedBody } from './question.ts'

/** Gaps in one answer at most, and markets in each of its lists. */
const MAX_COVERAGE_ROWS = 1_000

const COVERAGE_PARAMETERS: readonly Parameter[] = [
  {
    name: 'after',
    type: PARAMETER_TYPES.cursor,
    description: '`next` of an earlier response, to get the rest.',
  },
  { ...PATH_MARKET_ID, description: 'Only rows of this market: 64 hex digits, in either case.' },
]

const COUNT_SCHEMA = valueSchema('integer')
const HEIGHT_SCHEMA = COUNT_SCHEMA
const BLOCK_RANGE = named('BlockRange', objectOf({ from: HEIGHT_SCHEMA, to: HEIGHT_SCHEMA }))
const MARKET_ID_SCHEMA = valueSchema('marketId')
const TIME_SCHEMA = valueSchema('time', 'Unix nanoseconds.')

/** Schemas of a resource's row counts. */
const HELD: Record<CoverageForm, JsonSchema> = {
  count: named('StoredRows', objectOf({ count: COUNT_SCHEMA })),
  'count and block times': {
    ...named(
      'StoredBlockRows',
      objectOf({
        count: COUNT_SCHEMA,
        firstTimestamp: nullable(TIME_SCHEMA),
        lastTimestamp: nullable(TIME_SCHEMA),
      }),
    ),
    description: 'Times are those of the blocks that contained the rows.',
  },
  'times by market': listOf(
    named(
      'StoredMarketRows',
      objectOf({
        marketId: MARKET_ID_SCHEMA,
        count: COUNT_SCHEMA,
        firstTimestamp: TIME_SCHEMA,
        lastTimestamp: TIME_SCHEMA,
      }),
    ),
    'By market.',
  ),
  'blocks by market': listOf(
    named(
      'StoredMarketProviders',
      objectOf({ marketId: MARKET_ID_SCHEMA, count: COUNT_SCHEMA, atBlock: HEIGHT_SCHEMA }),
    ),
    'By market. `atBlock` is the block of its latest list.',
  ),
}

/** The body of `GET /api/v2/coverage`. */
export const COVERAGE_SCHEMA = objectOf({
  coverage: objectOf({
    chainId: { type: 'string' },
    blocks: named(
      'StoredBlocks',
      objectOf({
        ranges: listOf(BLOCK_RANGE, 'Heights of completely stored blocks, both ends included.'),
        gaps: listOf(
          named(
            'BlockGap',
            objectOf({
              from: HEIGHT_SCHEMA,
              to: HEIGHT_SCHEMA,
              kind: {
                type: 'string',
                enum: ['missing', 'incomplete'],
                description:
                  '`missing`: the blocks are not stored. `incomplete`: some of their events are missing.',
              },
              start: {
                ...nullable(TIME_SCHEMA),
                description:
                  'Time of the last stored block before, Unix nanoseconds. Null if it is not known or there is none: the gap is open on that side.',
              },
              end: {
                ...nullable(TIME_SCHEMA),
                description:
                  'Time of the first stored block after, Unix nanoseconds. Null if it is not known or there is none.',
              },
            }),
          ),
          'Heights between the first and the last block that are not completely stored.',
        ),
        imported: listOf(
          named(
            'ImportedBlocks',
            objectOf(
              {
                from: HEIGHT_SCHEMA,
                to: HEIGHT_SCHEMA,
                lacks: listOf(
                  { type: 'string' },
                  'Resources that the source did not have, or that are not imported yet. Left out if there are none.',
                ),
              },
              ['lacks'],
            ),
          ),
          "Heights of blocks whose rows were imported from a data node's tables. Of each market, period and source, only the last data point in a block is present; times are in microseconds; the order within a block is unknown.",
        ),
        lastTimestamp: TIME_SCHEMA,
      }),
    ),
    since: listOf(
      named(
        'CompleteSince',
        objectOf({
          resource: { type: 'string' },
          height: HEIGHT_SCHEMA,
          start: {
            ...nullable(TIME_SCHEMA),
            description: 'Time of that block, Unix nanoseconds. Null if it is not known.',
          },
        }),
      ),
      'Resources that an older version of the service did not store: they are complete from this height on. To have them in all blocks, ingest the event files into a new store.',
    ),
    ...Object.fromEntries(RESOURCES.map(({ name, coverage }) => [name, HELD[coverage]])),
    next: {
      ...nullable({ type: 'string' }),
      description: `Null if nothing is left. If there are more than ${MAX_COVERAGE_ROWS} gaps, imported ranges, or markets in a list, the response contains the first ones; pass this as \`after\` to get the next ones. Lists without further entries are then empty.`,
    },
    prunedBefore: {
      ...nullable(
        named('PruneLimit', objectOf({ timestamp: nullable(TIME_SCHEMA), height: nullable(HEIGHT_SCHEMA) })),
      ),
      description:
        'Limit before which rows have been pruned: a time, a height, or both. Null if nothing was pruned.',
    },
  }),
})

/** Stored blocks, gaps and row counts. */
export const coverageQuestion: Question<ContentsQuery> = {
  path: COVERAGE_PATH,
  parameters: COVERAGE_PARAMETERS,
  check: (values) => {
    const market = values.get('marketId') as string | undefined
    const marketId = market === undefined ? null : checkedId('marketId', market)
    const after = values.get('after') as string | undefined
    const rest = after === undefined ? { fromHeight: 0n, afterMarket: '' } : decodeCoverageCursor(after)
    if (rest === null) {
      throw invalidPagination('after is not a valid coverage cursor; use next from an earlier response')
    }
    return { marketId, ...rest, limit: MAX_COVERAGE_ROWS }
  },
  render: async (query, { reader }) => {
    const contents = await reader.read(() => readStoreContents(query))
    if (contents === null) return null
    const { height, timestamp } = contents.coverage
    const storeHead = { height: height.toString(), timestamp: timestamp.toString() }
    return renderedBody(coverageBody(contents, query), storeHead, null)
  },
  workload: () => ({ queue: 'report' }),
  sourceOf: () => null,
  description: {
    operationId: 'getCoverage',
    summary: 'List stored blocks, gaps and row counts',
    body: COVERAGE_SCHEMA,
  },
}
