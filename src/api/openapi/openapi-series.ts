import { INTERVALS } from '../../domain/intervals.ts'
import { SOURCES } from '../../resources/funding-period-data-points.ts'
import { SERIES_PARAMETERS } from '../pages/parameters.ts'
import { closedObject } from './node-schemas.ts'
import { reportAnswers } from './openapi-answers.ts'
import { COMMON_PARAMETERS, parametersOfMarket } from './openapi-parameters.ts'

const digits = (description: string) => ({ type: 'string', pattern: '^-?[0-9]+$', description })

const number = (description: string) => ({ type: 'string', description })

const summary = (of: string) => ({
  ...closedObject({
    first: number('Of the first point by time.'),
    last: number('Of the last point by time.'),
    minimum: number('The least; the first of equal ones.'),
    maximum: number('The greatest; the first of equal ones.'),
  }),
  description: `${of}, as they were sent.`,
})

const SERIES_SCHEMA = closedObject({
  series: closedObject({
    marketId: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    from: digits(
      'Where the first bucket of the range begins, Unix nanoseconds; 0 where there are no points.',
    ),
    to: digits('Where the last bucket of the range ends, Unix nanoseconds; 0 where there are no points.'),
    interval: {
      type: 'string',
      enum: [...INTERVALS.map(({ name }) => name), ''],
      description: 'The length of a bucket; empty where there are no points.',
    },
    bucketNanoseconds: digits('The same in nanoseconds; 0 where there are no points.'),
    sources: {
      type: 'array',
      description: 'The sources that have points in the range, in the order of their numbers.',
      items: closedObject({
        dataPointType: { type: 'string', enum: SOURCES },
        buckets: {
          type: 'array',
          description: 'Those that have points, in the order of time.',
          items: closedObject({
            start: digits('Where the bucket begins, Unix nanoseconds: a whole multiple of its length.'),
            seq: digits('The latest funding period of its points, whose TWAPs the bucket has.'),
            count: digits(
              'Its points. One that was carried over into a funding period counts again at its start.',
            ),
            price: summary('Prices of all points'),
            twap: summary('Time-weighted average prices of the points of the period `seq`'),
          }),
        },
      }),
    },
  }),
})

/** The operation of `GET /api/v2/series/funding-period-data-points/{marketId}`. */
export function seriesOperation(): object {
  return {
    operationId: 'getFundingPeriodDataPointSeries',
    summary: 'Prices and TWAPs of a market over time, by buckets of equal length: a chart in one request',
    tags: ['market data'],
    parameters: [...parametersOfMarket(SERIES_PARAMETERS), ...COMMON_PARAMETERS],
    responses: reportAnswers(
      'A series.',
      SERIES_SCHEMA,
      'A malformed request or market id, or an interval too short for its range',
    ),
  }
}
