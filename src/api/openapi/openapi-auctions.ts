import { DATE_RANGE_PARAMETERS } from '../pages/parameters.ts'
import { closedObject } from './node-schemas.ts'
import { reportAnswers } from './openapi-answers.ts'
import { COMMON_PARAMETERS, parametersOfMarket } from './openapi-parameters.ts'

const time = (description: string) => ({ type: 'string', pattern: '^-?[0-9]+$', description })

const AUCTIONS_SCHEMA = closedObject({
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

/** The operation of `GET /api/v2/auctions/{marketId}`. */
export function auctionsOperation(): object {
  return {
    operationId: 'getAuctions',
    summary: 'When a market was in auction',
    tags: ['market data'],
    parameters: [...parametersOfMarket(RANGE), ...COMMON_PARAMETERS],
    responses: reportAnswers('The auctions.', AUCTIONS_SCHEMA, 'A malformed request or market id'),
  }
}
