import type { DataPointSource, Series as SeriesBody, SeriesSummary } from 'lyra-client'
import { approximate, type Decimal, parseDecimal, ratio, subtract } from '../figures/decimal.ts'

/** A range of times, Unix nanoseconds: `from` inclusive, `to` exclusive. */
export type Range = { from: bigint; to: bigint }

/** What the points of one source come to within one bucket. */
export type Bucket = {
  /** Unix nanoseconds. */
  start: bigint
  count: bigint
  price: SeriesSummary
  twap: SeriesSummary
}

/** A market's points in buckets: what a chart is drawn from. */
export type Series = Range & {
  /** `5m`; empty where there are no points. */
  interval: string
  /** The length of a bucket, nanoseconds. */
  bucket: bigint
  external: readonly Bucket[]
  internal: readonly Bucket[]
}

/** A series with times as numbers, and the two sources that charts show. */
export function readSeries(body: SeriesBody): Series {
  const of = (source: DataPointSource) =>
    (body.sources.find(({ dataPointType }) => dataPointType === source)?.buckets ?? []).map(
      ({ start, count, ...statistics }): Bucket => ({
        start: BigInt(start),
        count: BigInt(count),
        ...statistics,
      }),
    )
  return {
    from: BigInt(body.from),
    to: BigInt(body.to),
    interval: body.interval,
    bucket: BigInt(body.bucketNanoseconds),
    external: of('SOURCE_EXTERNAL'),
    internal: of('SOURCE_INTERNAL'),
  }
}

/** What both sources say at a bucket of either: their own, or the last one before that is of the same period. */
export type Moment = {
  /** When the bucket begins, Unix nanoseconds. */
  start: bigint
  external: Bucket | null
  internal: Bucket | null
  /** Internal less external TWAP; null in auction, and where one source has none in this period yet. */
  difference: Decimal | null
  /** The difference as a part of the external TWAP. */
  premium: Decimal | null
}

/** Decimal places of a premium. */
const PREMIUM_PLACES = 12

/**
 * Every bucket of either source, in order, with what the other one said last.
 *
 * @param starts when funding periods begin, ascending: a TWAP is of its period alone
 */
export function momentsOf(
  { external, internal }: Series,
  bucket: bigint,
  starts: readonly bigint[],
): Moment[] {
  const moments: Moment[] = []
  let [e, i, p] = [0, 0, 0]
  let last: { external: Bucket | null; internal: Bucket | null } = { external: null, internal: null }
  while (e < external.length || i < internal.length) {
    const nextExternal = external[e]?.start
    const nextInternal = internal[i]?.start
    const start =
      nextInternal === undefined || (nextExternal !== undefined && nextExternal < nextInternal)
        ? nextExternal!
        : nextInternal
    last = {
      external: nextExternal === start ? external[e++]! : last.external,
      internal: nextInternal === start ? internal[i++]! : last.internal,
    }
    // The last period that has begun before the bucket ends: its first bucket is its own.
    while (p + 1 < starts.length && starts[p + 1]! < start + bucket) p++
    const latest = starts[p]
    const began = latest !== undefined && latest < start + bucket ? latest : null
    const twap = (of: Bucket | null) =>
      of !== null && (began === null || of.start + bucket > began) ? twapOf(of) : null
    const [outside, inside] = [twap(last.external), twap(last.internal)]
    const difference = outside === null || inside === null ? null : subtract(inside, outside)
    moments.push({
      start,
      ...last,
      difference,
      premium: difference === null ? null : ratio(difference, outside!, 0, PREMIUM_PLACES),
    })
  }
  return moments
}

/** The last TWAP of a bucket; null where there is none: the network says 0 while all of a period was in auction. */
function twapOf({ twap }: Bucket): Decimal | null {
  const number = parseDecimal(twap.last)
  return number === null || number.digits === 0n ? null : number
}

/** The index of the last one that begins at or before a time; -1 where all are later. */
export function lastAtOrBefore(moments: readonly { start: bigint }[], time: bigint): number {
  let low = 0
  let high = moments.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (moments[middle]!.start <= time) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Nanoseconds as seconds in a double: right to the microsecond. */
export function secondsOf(ns: bigint): number {
  return Number(ns / 1_000n) / 1e6
}

/** Seconds in a double as nanoseconds. */
export function nanosecondsOf(seconds: number): bigint {
  return BigInt(Math.round(seconds * 1e6)) * 1_000n
}

/** A number's place on the screen, in whole units; null for what is not a number. */
export function drawn(text: string | undefined, decimals: number): number | null {
  const number = text === undefined ? null : parseDecimal(text)
  return number === null ? null : approximate({ digits: number.digits, scale: number.scale + decimals })
}
