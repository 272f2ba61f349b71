import { type AuctionsQuery, readAuctions } from '../../store/readings/auctions.ts'
import { closedObject, valueSchema } from '../openapi/node-schemas.ts'
import { marketIdOfPath } from './page-request.ts'
import { dateRangeOf, dateRangeParameters } from './parameters.ts'
import { madeOf, type Question } from './question.ts'

const BODY = closedObject({
  auctions: closedObject({
    marketId: valueSchema('marketId'),
    completeFrom: valueSchema(
      'time',
      'Auctions that ended before this time may be missing, Unix nanoseconds: 0 unless the market has had a great many.',
    ),
    intervals: {
      type: 'array',
      description: 'The auctions that overlap the range, oldest first; none touches the next.',
      items: closedObject(
        {
          start: valueSchema('time', 'When the market entered the auction, Unix nanoseconds.'),
          end: valueSchema(
            'time',
            'When it left it, Unix nanoseconds; left out while the auction is in progress.',
          ),
        },
        ['end'],
      ),
    },
  }),
})

/** When a market was in auction. */
export const auctionsQuestion: Question<AuctionsQuery> = {
  path: '/api/v2/auctions/:marketId',
  parameters: dateRangeParameters(
    'Auctions in progress at this time or after it, Unix nanoseconds.',
    'Auctions that began before this time, Unix nanoseconds.',
  ),
  check: (values, pathId) => ({ marketId: marketIdOfPath(pathId), ...dateRangeOf(values) }),
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
