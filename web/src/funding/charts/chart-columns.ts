import uPlot from 'uplot'
import type { Bar } from '../../charts/bar.ts'
import type { Shade } from '../../charts/draw.ts'
import { approximate } from '../../figures/decimal.ts'
import type { Period } from '../../periods/period.ts'
import {
  type Bucket,
  breaksOf,
  drawn,
  type Moment,
  periodBreaks,
  type Range,
  secondsOf,
} from '../../series/series.ts'

/** What the charts are drawn from, besides the bars. */
export type FundingData = {
  moments: readonly Moment[]
  /** The length of a bucket, nanoseconds. */
  bucket: bigint
  /** Null before they are known. */
  periods: readonly Period[] | null
  shades: readonly Shade[]
  /** Decimals of prices; 0 if they are not known. */
  decimals: number
}

/** The line of estimates over the bars, in percent; a null value breaks it. */
export type EstimateLine = readonly { time: bigint; value: number | null }[]

/** X positions of buckets: their middles. */
function placesOf({ moments, bucket }: FundingData): number[] {
  return moments.map(({ start }) => secondsOf(start + bucket / 2n))
}

type Column = {
  values: readonly (number | null | undefined)[]
  /** The indexes after which the line breaks, besides those of missing blocks. */
  breaks: ReadonlySet<number>
}

const NO_BREAKS: ReadonlySet<number> = new Set()

/** Columns as uPlot takes them, in the order of `SERIES_OF_LINE`. */
export function priceColumns(data: FundingData): uPlot.AlignedData {
  const of = (source: 'external' | 'internal'): Column[] => {
    // Only points of the source itself: uPlot draws the line over undefined, but not over null.
    const buckets = data.moments.map((moment) =>
      moment[source]?.start === moment.start ? moment[source] : null,
    )
    const column = (read: (of: Bucket) => string) =>
      buckets.map((bucket) =>
        bucket === null ? undefined : (drawn(read(bucket), data.decimals) ?? undefined),
      )
    return [
      ...[
        column(({ price }) => price.minimum),
        column(({ price }) => price.maximum),
        untilTheEnd(column(({ price }) => price.last)),
      ].map((values) => ({ values, breaks: NO_BREAKS })),
      {
        // Without time outside auctions there is no mean, and the network says 0.
        values: column(({ twap }) => twap.last).map((twap) => twap || undefined),
        breaks: periodBreaks(buckets.map((bucket) => bucket?.seq ?? null)),
      },
    ]
  }
  return broken(data, [...of('external'), ...of('internal')])
}

/** Prices last until the next one: the last one up to the last moment, if the other source has later points. */
function untilTheEnd<Value>(values: readonly (Value | undefined)[]): readonly (Value | undefined)[] {
  const last = values.findLast((value) => value !== undefined)
  return values.length === 0 ? values : values.with(-1, values.at(-1) ?? last)
}

export function premiumColumns(data: FundingData): uPlot.AlignedData {
  const { moments } = data
  return broken(data, [
    {
      values: moments.map(({ premium }) => (premium === null ? null : approximate(premium) * 100)),
      breaks: periodBreaks(moments.map(({ pair }) => pair?.internal.seq ?? null)),
    },
  ])
}

/** Columns with their x positions, and with nulls that break lines: in all columns where blocks are missing. */
function broken(data: FundingData, columns: readonly Column[]): uPlot.AlignedData {
  const gaps = data.shades.filter(({ kind }) => kind === 'gap')
  const missing = breaksOf(data.moments, data.bucket, gaps)
  const inserted = new Set([...missing, ...columns.flatMap(({ breaks }) => [...breaks])])
  const places = placesOf(data)
  const insert = <Value>(values: readonly Value[], between: (index: number) => Value) =>
    values.flatMap((value, index) => (inserted.has(index) ? [value, between(index)] : [value]))
  return [
    insert(places, (index) => (places[index]! + places[index + 1]!) / 2),
    ...columns.map(({ values, breaks }) =>
      insert(values, (index) => (missing.has(index) || breaks.has(index) ? null : undefined)),
    ),
  ] as uPlot.AlignedData
}

export function rateColumns(bars: readonly Bar[], line: EstimateLine): uPlot.AlignedData {
  const values = line.map(({ value }) => value)
  return uPlot.join([
    [bars.map(({ from, to }) => secondsOf((from + to) / 2n)), bars.map(({ value }) => value)],
    [line.map(({ time }) => secondsOf(time)), values, values],
  ])
}

/** Whether a moment's bucket has a part in a range. */
export function isWithin({ start }: Moment, { bucket }: FundingData, { from, to }: Range): boolean {
  return start < to && start + bucket > from
}

/** The last time of a range that has data: its end, or that of the data if that is earlier. */
export function lastIn(data: FundingData, range: Range): bigint {
  const last = data.moments.at(-1)?.start ?? range.to
  return last < range.to ? last : range.to - 1n
}
