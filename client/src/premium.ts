import { divideDecimals, subtractDecimals } from './decimals.ts'
import type { Series, SeriesSource } from './resources.ts'

/** Nanoseconds, or the number of a funding period. */
type Integer = bigint | string

/** A bucket of a series, as far as premiums need it. */
type PricedBucket = {
  start: Integer
  seq: Integer
  price: { last: string }
  twap: { last: string }
}

/** The premium at an internal bucket. TWAPs are in the smallest unit of the settlement asset, as the network sent them. */
export type Premium = {
  /** Start of the bucket, Unix nanoseconds. */
  start: string
  /** The funding period. */
  seq: string
  internalTwap: string
  externalTwap: string
  /** Internal divided by external TWAP, minus 1; null in an auction since the start of the period, for which a TWAP of 0 is sent. */
  premium: string | null
}

/**
 * The external bucket that an internal one is compared with: the latest at or before it that is not of a later period. If that
 * is of an earlier one, no external price has arrived in this period, and the last one counts as its TWAP (see
 * {@link carriedOver}). Null if there is none.
 *
 * @param external in time order
 */
export function externalBeside<Bucket extends PricedBucket>(
  external: readonly Bucket[],
  internal: PricedBucket,
): Bucket | null {
  const [at, seq] = [BigInt(internal.start), BigInt(internal.seq)]
  let low = 0
  let high = external.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (BigInt(external[middle]!.start) <= at) low = middle + 1
    else high = middle
  }
  let found = low - 1
  while (found >= 0 && BigInt(external[found]!.seq) > seq) found--
  return found < 0 ? null : carriedOver(external[found]!, internal.seq)
}

/**
 * A bucket as it stands in a period that is not earlier: the network carries the latest price over into a new period, whose TWAP
 * it is until another one arrives.
 */
export function carriedOver<Bucket extends PricedBucket>(bucket: Bucket, seq: Integer): Bucket {
  if (BigInt(bucket.seq) >= BigInt(seq)) return bucket
  const { last } = bucket.price
  return { ...bucket, seq, twap: { first: last, last, minimum: last, maximum: last } }
}

/**
 * The premiums of a series, at each internal bucket that has an external price, in time order.
 *
 * @param places digits after the point of a premium
 */
export function premiumsOf({ sources }: Pick<Series, 'sources'>, places = 12): Premium[] {
  const bucketsOf = (type: SeriesSource['dataPointType']) =>
    sources.find(({ dataPointType }) => dataPointType === type)?.buckets ?? []
  const external = bucketsOf('SOURCE_EXTERNAL')
  return bucketsOf('SOURCE_INTERNAL').flatMap((internal): Premium[] => {
    const beside = externalBeside(external, internal)
    if (beside === null) return []
    const { start, seq } = internal
    const [internalTwap, externalTwap] = [internal.twap.last, beside.twap.last]
    const isInAuction = isZero(internalTwap) || isZero(externalTwap)
    const premium = isInAuction
      ? null
      : divideDecimals(subtractDecimals(internalTwap, externalTwap), externalTwap, places)
    return [{ start, seq, internalTwap, externalTwap, premium }]
  })
}

const isZero = (decimal: string) => subtractDecimals(decimal, '0') === '0'
