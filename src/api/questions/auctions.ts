import { type AuctionsQuery, readAuctions } from '../../store/readings/auctions.ts'
import { closedObject } from '../openapi/node-schemas.ts'
import { marketIdOfPath } from './page-request.ts'
import { DATE_RANGE_PARAMETERS } from './parameters.ts'
import { madeOf, type Question } from './question.ts'

const time = (description: string) => ({ type: 'string', pattern: '^-?[0-9]+$', description })

const BODY = closedObject({
  auctions: closedObject({
    marketId: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    completeFrom: time(
      'Auctions that ended before this time may be missing, Unix nanoseconds: 0 unless the market has had a great many.',
    ),
    intervals: {
      type: 'array',
      description: 'The auctions that overlap the range, oldest first; none touches the next.',
      items: closedObject(
        {
          start: time('When the market entered the auction, Unix nanoseconds.'),
          end: time('When it left it, Unix nanoseconds; left out while the auction is in progress.'),
        },
        ['end'],
      ),
    },
  }),
})

const MEANINGS = [
  'Auctions in progress at this time or after it, Unix nanoseconds.',
  'Auctions that began before this time, Unix nanoseconds.',
]
const RANGE = DATE_RANGE_PARAMETERS.map((parameter, index) => ({
  ...parameter,
  description: MEANINGS[index]!,
}))

/** When a market was in auction. */
export const auctionsQuestion: Question<AuctionsQuery> = {
  path: '/api/v2/auctions/:marketId',
  parameters: RANGE,
  check: (values, pathId) => ({
    marketId: marketIdOfPath(pathId),
    start: (values.get('dateRange.startTimestamp') as bigint | undefined) ?? null,
    end: (values.get('dateRange.endTimestamp') as bigint | undefined) ?? null,
  }),
  make: async (query, { reader }) => {
    const found = await reader.read(() => readAuctions(query))
    if (found === null) return null
    const { position, completeFrom, auctions } = found
    const node = {
      ...{ marketId: query.marketId, completeFrom: completeFrom.toString() },
      intervals: auctions.map(({ start, end }) => ({
        start: start.toString(),
        ...(end === null ? {} : { end: end.toString() }),
      })),
    }
    return madeOf({ auctions: node }, position, null)
  },
  lane: () => 'report',
  keptUntil: () => null,
  marketOf: ({ marketId }) => marketId,
  description: { operationId: 'getAuctions', summary: 'When a market was in auction', body: BODY },
}
