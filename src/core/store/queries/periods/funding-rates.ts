import { add, type Decimal, textOfDecimal, ZERO } from '../../../domain/decimal.ts'
import { nearestInt64 } from '../../../domain/integers.ts'
import type { Interval } from '../../../domain/intervals.ts'
import { indexAt } from '../../../domain/series.ts'
import type { StoreVersion } from '../../changes.ts'
import type { PageQuery, StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { type MarketPage, readMarketPage } from '../contents/market-pages.ts'
import { readFreshness } from '../freshness.ts'
import { EndedPeriods } from './ended-periods.ts'

/** A request for the funding rates of a page of markets. */
export type FundingRatesQuery = {
  /** The page of markets. */
  page: PageQuery
  interval: Interval
  /** Length of the range in nanoseconds, up to the last block, if the request sets neither limit. */
  usualLength: bigint
  /**
   * The range of the ends of periods: start (inclusive) and end (exclusive), Unix nanoseconds; null if the request leaves
   * it open.
   */
  start: bigint | null
  end: bigint | null
}

/** Paid periods that ended within a bucket. It starts at a whole multiple of its length, Unix nanoseconds. */
type RateBucket = { start: bigint; count: number; sumOfRates: string }

/** A page of markets with their rates, in the direction of reading. */
export type FundingRates = Omit<MarketPage, 'ids'> & {
  storeHead: StoreHead
  version: StoreVersion
  markets: { marketId: string; buckets: RateBucket[] }[]
  /** Whether the range has too many buckets, so that nothing was read. */
  isTooLong: boolean
}

/** Maximum number of buckets of a market. */
export const MAX_RATE_BUCKETS = 1_100

/** A page ends early after this many buckets, or periods read for them. */
const MAX_PAGE_BUCKETS = 40_000
const MAX_PAGE_PERIODS = 100_000

/** Sums funding rates by market and bucket; null in an empty store. */
export function* readFundingRates(query: FundingRatesQuery): Query<FundingRates | null> {
  const { storeHead, version } = yield* readFreshness(null)
  if (storeHead === null) return null
  const { nanoseconds: length } = query.interval
  const end = query.end ?? BigInt(storeHead.timestamp) + 1n
  const start = query.start ?? end - query.usualLength
  const buckets = { first: indexAt(start, length), last: indexAt(end - 1n, length), length }
  if (buckets.last - buckets.first >= BigInt(MAX_RATE_BUCKETS)) {
    return { storeHead, version, markets: [], more: false, hasRowsAtOrBefore: false, isTooLong: true }
  }
  const { ids, more, hasRowsAtOrBefore } = yield* readMarketPage(query.page)
  const rates: FundingRates = { storeHead, version, markets: [], more, hasRowsAtOrBefore, isTooLong: false }
  const read = { buckets: 0, periods: 0 }
  for (const marketId of ids) {
    if (read.buckets >= MAX_PAGE_BUCKETS || read.periods >= MAX_PAGE_PERIODS) return { ...rates, more: true }
    const ofMarket = start < end ? yield* readRateBuckets(marketId, buckets) : []
    rates.markets.push({ marketId, buckets: ofMarket })
    read.buckets += ofMarket.length
    for (const { count } of ofMarket) read.periods += count
  }
  return rates
}

/** Buckets of one length, from the first to the last; the first begins at `first * length`. */
type BucketSpan = { first: bigint; last: bigint; length: bigint }

function* readRateBuckets(marketId: string, { first, last, length }: BucketSpan): Query<RateBucket[]> {
  const sums = new Map<bigint, { count: number; sum: Decimal }>()
  const range = { from: nearestInt64(first * length), upTo: nearestInt64((last + 1n) * length - 1n) }
  const periods = new EndedPeriods(marketId, range)
  while (!periods.isAtEnd) {
    for (const { end, paid } of yield* periods.readChunk()) {
      if (paid === null) continue
      const start = indexAt(end, length) * length
      const bucket = sums.get(start) ?? { count: 0, sum: ZERO }
      sums.set(start, { count: bucket.count + 1, sum: add(bucket.sum, paid.rate) })
    }
  }
  return [...sums]
    .map(([start, { count, sum }]) => ({ start, count, sumOfRates: textOfDecimal(sum) }))
    .sort((a, b) => (a.start < b.start ? -1 : 1))
}
