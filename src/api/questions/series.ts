import type { Summary } from '../../domain/series.ts'
import { SOURCES } from '../../resources/funding-period-data-points/description.ts'
import { MAX_BUCKETS, readSeries, type Series, type SeriesQuery } from '../../store/readings/series.ts'
import { invalidParameter } from '../http/errors.ts'
import { closedObject, valueSchema } from '../openapi/node-schemas.ts'
import { marketIdOfPath } from './page-request.ts'
import { DEFAULT_BUCKETS, PARAMETER_TYPES } from './parameter-types.ts'
import { DATE_RANGE_PARAMETERS, dateRangeOf, FILTER_PARAMETERS, type Parameter } from './parameters.ts'
import { madeOf, type Question } from './question.ts'

const PARAMETERS: readonly Parameter[] = [
  {
    name: 'buckets',
    type: PARAMETER_TYPES.buckets,
    description:
      'The shortest interval is taken that makes no more than so many buckets of the range. Not together with `interval`.',
  },
  ...DATE_RANGE_PARAMETERS,
  {
    name: 'interval',
    type: PARAMETER_TYPES.interval,
    description:
      'The length of a bucket: the range must not touch more than 2,000 of them. Not together with `buckets`.',
  },
  FILTER_PARAMETERS.source,
]

const summary = (of: string) => ({
  title: 'SeriesSummary',
  ...closedObject({
    first: valueSchema('number', 'Of the first point by time.'),
    last: valueSchema('number', 'Of the last point by time.'),
    minimum: valueSchema('number', 'The least; the first of equal ones.'),
    maximum: valueSchema('number', 'The greatest; the first of equal ones.'),
  }),
  description: `${of}, as they were sent.`,
})

const BODY = closedObject({
  series: closedObject({
    marketId: valueSchema('marketId'),
    from: valueSchema(
      'time',
      'Where the first bucket of the range begins, Unix nanoseconds; 0 where there are no points.',
    ),
    to: valueSchema(
      'time',
      'Where the last bucket of the range ends, Unix nanoseconds; 0 where there are no points.',
    ),
    interval: {
      oneOf: [{ type: 'string', enum: [''] }, PARAMETER_TYPES.interval.schema],
      description: 'The length of a bucket; empty where there are no points.',
    },
    bucketNanoseconds: valueSchema('signed', 'The same in nanoseconds; 0 where there are no points.'),
    sources: {
      type: 'array',
      description: 'The sources that have points in the range, in the order of their numbers.',
      items: closedObject({
        dataPointType: { type: 'string', enum: SOURCES },
        buckets: {
          type: 'array',
          description: 'Those that have points, in the order of time.',
          items: closedObject({
            start: valueSchema(
              'time',
              'Where the bucket begins, Unix nanoseconds: a whole multiple of its length.',
            ),
            seq: valueSchema(
              'signed',
              'The latest funding period of its points, whose TWAPs the bucket has.',
            ),
            count: valueSchema(
              'signed',
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

/** A chart in one request. */
export const seriesQuestion: Question<SeriesQuery> = {
  path: '/api/v2/series/funding-period-data-points/:marketId',
  parameters: PARAMETERS,
  check: (values, pathId) => {
    const [buckets, interval] = [values.get('buckets'), values.get('interval')]
    if (buckets !== undefined && interval !== undefined) {
      throw invalidParameter(
        `parsing field "interval": buckets is ${buckets} and interval is "${interval}", allowed is one of the two`,
      )
    }
    const source = values.get('source') as bigint | undefined
    return {
      marketId: marketIdOfPath(pathId),
      ...dateRangeOf(values),
      source: source === undefined || source === 0n ? null : source,
      by:
        interval === undefined
          ? { buckets: (buckets as bigint | undefined) ?? DEFAULT_BUCKETS }
          : { interval: interval as string },
    }
  },
  make: async (query, { reader }) => {
    const found = await reader.read(() => readSeries(query))
    if (found === null) return null
    const { position, series, tooShort } = found
    if (tooShort === null) return madeOf(seriesBody(query.marketId, series), position, null)
    const asked = 'interval' in query.by ? query.by.interval : ''
    const refusal = `parsing field "interval": interval is "${asked}", allowed is one of which the range touches at most ${MAX_BUCKETS}: ${tooShort.name} or longer`
    return { ...madeOf({}, position, null), refusal }
  },
  lane: () => 'report',
  keptUntil: () => null,
  marketOf: ({ marketId }) => marketId,
  description: {
    operationId: 'getFundingPeriodDataPointSeries',
    summary: 'Prices and TWAPs of a market over time, by buckets of equal length: a chart in one request',
    body: BODY,
    alternatives: ['buckets', 'interval'],
  },
}

/** The body of a series; what it is without any point, where there is none. */
function seriesBody(marketId: string, series: Series | null): object {
  if (series === null) {
    return { series: { marketId, from: '0', to: '0', interval: '', bucketNanoseconds: '0', sources: [] } }
  }
  const { from, to, interval, sources } = series
  return {
    series: {
      ...{ marketId, from: from.toString(), to: to.toString(), interval: interval.name },
      bucketNanoseconds: interval.nanoseconds.toString(),
      sources: sources.map(({ source, buckets }) => ({
        dataPointType: SOURCES[Number(source)],
        buckets: buckets.map(([start, { seq, count, price, twap }]) => ({
          ...{ start: start.toString(), seq: seq.toString(), count: count.toString() },
          ...{ price: summaryNode(price), twap: summaryNode(twap) },
        })),
      })),
    },
  }
}

/** In the order of the API, whatever that of the object. */
function summaryNode({ first, last, minimum, maximum }: Summary): Summary {
  return { first, last, minimum, maximum }
}
