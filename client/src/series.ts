import type { FundingPeriodDataPoint, Time } from './resources.ts'

/** The lengths of a bucket. */
export type SeriesInterval =
  | '1s'
  | '2s'
  | '5s'
  | '10s'
  | '15s'
  | '30s'
  | '1m'
  | '2m'
  | '5m'
  | '10m'
  | '15m'
  | '30m'
  | '1h'
  | '2h'
  | '4h'
  | '8h'
  | '12h'
  | '1d'
  | '2d'
  | '7d'
  | '14d'
  | '28d'
  | '91d'
  | '365d'

/** The range of a series, and the length of its buckets or how many there may be (500 where neither is said). */
export type SeriesOptions = {
  from?: Time | undefined
  to?: Time | undefined
  source?: FundingPeriodDataPoint['dataPointType'] | undefined
  signal?: AbortSignal | undefined
} & ({ buckets?: number | undefined; interval?: never } | { interval: SeriesInterval; buckets?: never })

/** Decimal numbers as they were sent; the first of equal ones. */
export type SeriesSummary = { first: string; last: string; minimum: string; maximum: string }

/** Prices and TWAPs of a market by buckets of equal length; numbers are digits, times Unix nanoseconds. */
export type Series = {
  marketId: string
  /** The range, widened to whole buckets; both `0` where there are no points. */
  from: string
  to: string
  /** Empty where there are no points. */
  interval: SeriesInterval | ''
  bucketNanoseconds: string
  sources: {
    dataPointType: FundingPeriodDataPoint['dataPointType']
    /** Those that have points, in the order of time. */
    buckets: {
      start: string
      /** The latest funding period of the bucket's points: `twap` is of that period alone, `price` of all points. */
      seq: string
      count: string
      price: SeriesSummary
      twap: SeriesSummary
    }[]
  }[]
}
