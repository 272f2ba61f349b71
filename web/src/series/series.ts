import {
  carriedOver,
  type DataPointSource,
  externalBeside,
  type Series as SeriesBody,
  type SeriesSummary,
} from 'lyra-client'
import { approximate, type Decimal, parseDecimal, ratio, subtract } from '../figures/decimal.ts'

/** A range of times, Unix nanoseconds: `from` inclusive, `to` exclusive. */
export type Range = { from: bigint; to: bigint }

/** Summary of one source's points in a bucket. */
export type Bucket = {
  /** Unix nanoseconds. */
  start: bigint
  /** The funding period of `twap`. */
  seq: bigint
  count: bigint
  price: SeriesSummary
  twap: SeriesSummary
}

/** A market's points in buckets, for a chart. */
export type Series = Range & {
  /** `5m`; empty if there are no points. */
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
      ({ start, seq, count, ...statistics }): Bucket => ({
        start: BigInt(start),
        seq: BigInt(seq),
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

/** What both sources say at a bucket of either: their own, or their last one before. */
export type Moment = {
  /** When the bucket begins, Unix nanoseconds. */
  start: bigint
  external: Bucket | null
  internal: Bucket | null
  /**
   * The latest internal bucket with the latest external one at or before it, if both are of the period that runs here: a TWAP
   * belongs to one period. Until the external source has a point of its own there, its TWAP is the price carried over.
   */
  pair: { external: Bucket; internal: Bucket } | null
  /** Internal minus external TWAP of the pair; null while one is 0, as in an auction. */
  difference: Decimal | null
  /** The premium: internal divided by external TWAP of the pair, minus 1. */
  premium: Decimal | null
}

/** Decimal places of a premium. */
const PREMIUM_PLACES = 12

/** Every bucket of either source, in order, with the last known one of the other. */
export function momentsOf({ external, internal }: Series): Moment[] {
  const moments: Moment[] = []
  let [e, i] = [0, 0]
  let inside: Bucket | null = null
  let pair: Moment['pair'] = null
  while (e < external.length || i < internal.length) {
    const nextExternal = external[e]?.start
    const nextInternal = internal[i]?.start
    const start =
      nextInternal === undefined || (nextExternal !== undefined && nextExternal < nextInternal)
        ? nextExternal!
        : nextInternal
    if (nextExternal === start) e += 1
    let outside = external[e - 1] ?? null
    if (nextInternal === start) {
      inside = internal[i++]!
      outside = externalBeside(external, inside)
      pair = outside === null ? null : { external: outside, internal: inside }
    } else if (inside !== null && outside !== null) {
      // A later period has begun, of which no internal point is there yet.
      if (outside.seq > inside.seq) pair = null
      else outside = carriedOver(outside, inside.seq)
    }
    const externalTwap = pair === null ? null : twapOf(pair.external)
    const internalTwap = pair === null ? null : twapOf(pair.internal)
    const difference =
      externalTwap === null || internalTwap === null ? null : subtract(internalTwap, externalTwap)
    const premium = difference === null ? null : ratio(difference, externalTwap!, 0, PREMIUM_PLACES)
    moments.push({ start, external: outside, internal: inside, pair, difference, premium })
  }
  return moments
}

/** The last TWAP of a bucket; null if there is none: the network says 0 while all of a period was in auction. */
function twapOf({ twap }: Bucket): Decimal | null {
  const number = parseDecimal(twap.last)
  return number === null || number.digits === 0n ? null : number
}

/** The index of the last one that begins at or before a time; -1 if all are later. */
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

/** The indexes of the moments after which lines break, since blocks are missing between them and the next ones. */
export function breaksOf(
  moments: readonly { start: bigint }[],
  bucket: bigint,
  gaps: readonly Range[],
): Set<number> {
  const isBreak = (index: number, { to }: Range) =>
    moments[index] !== undefined && moments[index + 1] !== undefined && moments[index].start + bucket <= to
  return new Set(
    gaps
      .map((gap) => ({ gap, index: lastAtOrBefore(moments, gap.from) }))
      .filter(({ gap, index }) => isBreak(index, gap))
      .map(({ index }) => index),
  )
}

/**
 * The indexes after which a line of values of periods breaks: before the first value of another period. A period with
 * one value is joined to its neighbours, or it would not be seen.
 *
 * @param seqs the periods of the values; null without a value
 */
export function periodBreaks(seqs: readonly (bigint | null)[]): Set<number> {
  const known = seqs.flatMap((seq, index) => (seq === null ? [] : [{ seq, index }]))
  const isSame = (a: number, b: number) => known[a] !== undefined && known[a].seq === known[b]?.seq
  return new Set(
    known.flatMap(({ index }, at) =>
      !isSame(at - 1, at) && isSame(at - 2, at - 1) && isSame(at, at + 1) ? [index - 1] : [],
    ),
  )
}

/** Nanoseconds as seconds in a double: right to the microsecond. */
export function secondsOf(ns: bigint): number {
  return Number(ns / 1_000n) / 1e6
}

/** Seconds in a double as nanoseconds. */
export function nanosecondsOf(seconds: number): bigint {
  return BigInt(Math.round(seconds * 1e6)) * 1_000n
}

/** A number as drawn, in whole units; null if it is not a number. */
export function drawn(text: string | undefined, decimals: number): number | null {
  const number = text === undefined ? null : parseDecimal(text)
  return number === null ? null : approximate({ digits: number.digits, scale: number.scale + decimals })
}
