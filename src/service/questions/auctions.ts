import { count } from '#core/domain/words'
import { type AuctionsQuery, MAX_AUCTION_EVENTS, readAuctions } from '#core/store/queries/auctions'
import { listOf, named, objectOf, valueSchema } from './node-schemas.ts'
import { marketIdOfPath } from './page-request.ts'
import { dateRangeOf, dateRangeParameters } from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

const BODY = objectOf({
  auctions: objectOf({
    marketId: valueSchema('marketId'),
    completeFrom: valueSchema(
      'time',
      `Auctions that ended before this time (Unix nanoseconds) may be missing. 0 unless the market has more than ${count(MAX_AUCTION_EVENTS)} auction events, of which the newest are read.`,
    ),
    intervals: listOf(
      named(
        'AuctionInterval',
        objectOf(
          {
            start: valueSchema('time', 'Start of the auction, Unix nanoseconds.'),
            end: valueSchema(
              'time',
              'End of the auction, Unix nanoseconds. Absent while the auction is in progress.',
            ),
          },
          ['end'],
        ),
      ),
      'Auctions that overlap the range, oldest first. Adjoining auctions are merged.',
    ),
  }),
})

/** When a market was in auction. */
export const auctionsQuestion: Question<AuctionsQuery> = {
  path: '/api/v2/auctions/:marketId',
  parameters: dateRangeParameters(
    'Auctions that end after this time or are in progress at it, Unix nanoseconds.',
    'Auctions that began before this time, Unix nanoseconds.',
  ),
  check: (values, pathId) => ({ marketId: marketIdOfPath(pathId), ...dateRangeOf(values) }),
  render: async (query, { reader }) => {
    const answer = await reader.read(() => readAuctions(query))
    if (answer === null) return null
    const { storeHead, completeFrom, auctions } = answer
    const node = {
      marketId: query.marketId,
      completeFrom: completeFrom.toString(),
      intervals: auctions.map(({ start, end }) => ({
        start: start.toString(),
        ...(end === null ? {} : { end: end.toString() }),
      })),
    }
    return renderedBody({ auctions: node }, storeHead, null)
  },
  workload: () => ({ queue: 'report' }),
  sourceOf: () => null,
  description: {
    operationId: 'getAuctions',
    name: 'marketAuctions',
    summary: 'List when a market was in auction',
    body: BODY,
  },
}
