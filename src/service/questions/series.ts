import { nearestInt64 } from '#core/domain/integers'
import { INTERVALS } from '#core/domain/intervals'
import type { Summary } from '#core/domain/series'
import { count } from '#core/domain/words'
import { filterOf } from '#core/model/filters'
import { SOURCES } from '#core/resources/funding-period-data-points/description'
import {
  MAX_TOUCHED_BUCKETS,
  readSeries,
  type Series,
  type SeriesQuery,
} from '#core/store/queries/series/series'
import { invalidParameter } from '../http/errors.ts'
import { type FileColumn, type FileOptions, fileAnswer, fileOptionsOf } from './csv-file.ts'
import { listOf, named, objectOf, valueSchema } from './node-schemas.ts'
import { marketIdOfPath } from './page-request.ts'
import { DEFAULT_BUCKETS, PARAMETER_TYPES } from './parameter-types.ts'
import { DATE_RANGE_PARAMETERS, dateRangeOf, filterParameter, type Parameter } from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

const SERIES_PARAMETERS: readonly Parameter[] = [
  {
    name: 'buckets',
    type: PARAMETER_TYPES.buckets,
    description: `Maximum number of buckets; the shortest interval that fits is used. Default: ${DEFAULT_BUCKETS}. Cannot be combined with \`interval\`.`,
  },
  ...DATE_RANGE_PARAMETERS,
  {
    name: 'interval',
    type: PARAMETER_TYPES.interval,
    description: `Length of a bucket; the range may touch at most ${count(MAX_TOUCHED_BUCKETS)} buckets. Cannot be combined with \`buckets\`.`,
  },
  filterParameter(filterOf('source')),
]

const summary = (of: string) => ({
  ...named(
    'SeriesSummary',
    objectOf({
      first: valueSchema('number', 'Value of the earliest point.'),
      last: valueSchema('number', 'Value of the latest point.'),
      minimum: valueSchema('number', 'Smallest value; of equal values, the first.'),
      maximum: valueSchema('number', 'Largest value; of equal values, the first.'),
    }),
  ),
  description: `${of}, formatted as in the events.`,
})

const BODY = objectOf({
  series: objectOf({
    marketId: valueSchema('marketId'),
    from: valueSchema(
      'time',
      'Start of the first bucket of the range, Unix nanoseconds. 0 if there are no points.',
    ),
    to: valueSchema(
      'time',
      'End of the last bucket of the range, Unix nanoseconds. 0 if there are no points.',
    ),
    interval: {
      type: 'string',
      enum: ['', ...INTERVALS.map(({ name }) => name)],
      // For generators that make a name of each value: an empty one has none.
      'x-enum-varnames': [
        'NONE',
        ...INTERVALS.map(({ name }) => `${name.at(-1)}${name.slice(0, -1)}`.toUpperCase()),
      ],
      description: 'Length of a bucket. Empty if there are no points.',
    },
    bucketNanoseconds: valueSchema('signed', 'Length of a bucket in nanoseconds. 0 if there are no points.'),
    sources: listOf(
      named(
        'SeriesSource',
        objectOf({
          dataPointType: { type: 'string', enum: SOURCES },
          buckets: listOf(
            named(
              'SeriesBucket',
              objectOf({
                start: valueSchema(
                  'time',
                  'Start of the bucket, Unix nanoseconds: a multiple of its length.',
                ),
                seq: valueSchema(
                  'signed',
                  'Latest funding period with a point in the bucket; `twap` covers only its points.',
                ),
                count: valueSchema(
                  'signed',
                  'Number of points. A point that was carried over into later funding periods counts once.',
                ),
                price: summary('Prices of all points'),
                twap: summary('Time-weighted average prices of the points of period `seq`'),
              }),
            ),
            'Buckets with points, in time order.',
          ),
        }),
      ),
      'Sources with points in the range, external first.',
    ),
  }),
})

const BUCKET_VALUES = ['first', 'last', 'minimum', 'maximum'] as const

/** A bucket in a file: its end, too, since a file does not say how long buckets are. */
const BUCKET_COLUMNS: readonly FileColumn[] = [
  { name: 'dataPointType', kind: 'text' },
  { name: 'start', kind: 'time' },
  { name: 'end', kind: 'time' },
  { name: 'seq', kind: 'integer' },
  { name: 'count', kind: 'integer' },
  ...['price', 'twap'].flatMap((of) =>
    BUCKET_VALUES.map((name) => ({
      name: `${of}${name[0]!.toUpperCase()}${name.slice(1)}`,
      kind: 'text' as const,
    })),
  ),
]

/** A chart in one request. */
export const seriesQuestion: Question<SeriesQuery & { file: FileOptions | null }> = {
  path: '/api/v2/series/funding-period-data-points/:marketId',
  parameters: SERIES_PARAMETERS,
  check: (values, pathId) => {
    const [buckets, interval] = [values.get('buckets'), values.get('interval')]
    if (buckets !== undefined && interval !== undefined) {
      throw invalidParameter(
        `parsing field "interval": buckets is ${buckets} and interval is "${interval}"; give only one of the two`,
      )
    }
    const source = values.get('source') as bigint | undefined
    return {
      marketId: marketIdOfPath(pathId),
      ...dateRangeOf(values),
      source: source === undefined || source === 0n ? null : source,
      file: fileOptionsOf(values, []),
      by:
        interval === undefined
          ? { buckets: (buckets as bigint | undefined) ?? DEFAULT_BUCKETS }
          : { interval: interval as string },
    }
  },
  render: async (query, { reader }) => {
    const answer = await reader.read(() => readSeries(query))
    if (answer === null) return null
    const { storeHead, series, tooShort } = answer
    if (tooShort === null) {
      if (query.file === null) return renderedBody(seriesBody(query.marketId, series), storeHead, null)
      const rows = series === null ? [] : seriesRows(series)
      return fileAnswer(
        { name: 'series', ...query.file },
        BUCKET_COLUMNS,
        { rows, more: false },
        { storeHead, version: null },
      )
    }
    const interval = 'interval' in query.by ? query.by.interval : ''
    const refusal = `parsing field "interval": interval is "${interval}", too short for this range: at most ${MAX_TOUCHED_BUCKETS} buckets are allowed; use ${tooShort.name} or longer`
    return { ...renderedBody({}, storeHead, null), refusal }
  },
  workload: () => ({ queue: 'report' }),
  sourceOf: () => null,
  description: {
    operationId: 'getFundingPeriodDataPointSeries',
    summary: 'Get the prices and TWAPs of a market in time buckets, for a chart',
    body: BODY,
    alternatives: ['buckets', 'interval'],
    isFile: true,
  },
}

/** The body of a series, or of an empty one if there are no points. */
function seriesBody(marketId: string, series: Series | null): object {
  if (series === null) {
    return { series: { marketId, from: '0', to: '0', interval: '', bucketNanoseconds: '0', sources: [] } }
  }
  const { from, to, interval, sources } = series
  return {
    series: {
      // Times elsewhere have 64 bits; a bucket at their limits may begin or end beyond.
      marketId,
      from: `${nearestInt64(from)}`,
      to: `${nearestInt64(to)}`,
      interval: interval.name,
      bucketNanoseconds: interval.nanoseconds.toString(),
      sources: sources.map(({ source, buckets }) => ({
        dataPointType: SOURCES[Number(source)],
        buckets: buckets.map(([start, { seq, count, price, twap }]) => ({
          start: start.toString(),
          seq: seq.toString(),
          count: count.toString(),
          price: summaryNode(price),
          twap: summaryNode(twap),
        })),
      })),
    },
  }
}

/** The buckets of a series, by source and time. */
function seriesRows({ interval, sources }: Series): string[][] {
  return sources.flatMap(({ source, buckets }) =>
    buckets.map(([start, { seq, count, price, twap }]) => [
      SOURCES[Number(source)]!,
      `${start}`,
      `${start + interval.nanoseconds}`,
      `${seq}`,
      `${count}`,
      ...[price, twap].flatMap((summary) => BUCKET_VALUES.map((name) => summary[name])),
    ]),
  )
}

/** In the order of the API, whatever that of the object. */
function summaryNode({ first, last, minimum, maximum }: Summary): Summary {
  return { first, last, minimum, maximum }
}
