import type { LyraClient } from 'lyra-client'
import { DAY } from '../../../../src/core/domain/time.ts'
import type { Bar } from '../../charts/bar.ts'
import { add, approximate, type Decimal, parseDecimal, scaleBy, ZERO } from '../../figures/decimal.ts'
import { type Period, type Periods, within } from '../../periods/period.ts'
import { lastAtOrBefore, type Range } from '../../series/series.ts'
import { BAR_SPANS, type BarKind } from './reading.ts'

/** More periods than this are drawn in sums by day: their bars would cover one another. */
export const MOST_BARS = 1_500

/** Days that one answer may have. */
const MOST_DAYS = 1_100n

/** Decimal places of a day's sum that is scaled. */
const PLACES = 18

/** The payments due on a day. */
export type Day = {
  /** Midnight UTC, Unix nanoseconds. */
  start: bigint
  count: number
  /** The sum of their rates. */
  sum: Decimal
}

/** Whether a range has more periods than are drawn one by one, or than are loaded. */
export function areTooMany(list: readonly Period[], more: boolean, range: Range): boolean {
  return !areAllOf({ list, more }, range) || within(list, range).length > MOST_BARS
}

/** Whether the loaded periods are all that a range has. */
export function areAllOf({ list, more }: Periods, range: Range): boolean {
  const [oldest] = list
  return !more || oldest === undefined || oldest.start <= range.from
}

/** The whole days of a range, within the stored days. */
export function daysOf(range: Range, stored: Range): Range {
  const from = range.from > stored.from ? range.from : stored.from
  const to = range.to <= stored.to ? range.to : stored.to + 1n
  return { from: from - (from % DAY), to: to + ((DAY - (to % DAY)) % DAY) }
}

/** Requests a market's sums of rates for days: in parts, if they are more than one answer may have. */
export async function askDays(
  lyra: Pick<LyraClient, 'fundingRates'>,
  marketId: string,
  { from, to }: Range,
  signal?: AbortSignal,
): Promise<Day[]> {
  const days: Day[] = []
  for (let start = from; start < to; start += MOST_DAYS * DAY) {
    const end = start + MOST_DAYS * DAY
    const part = { from: start, to: end < to ? end : to }
    const { edges } = await lyra.fundingRates({ marketId, interval: '1d', ...part, signal })
    for (const { start, count, sumOfRates } of edges[0]?.node.buckets ?? []) {
      days.push({ start: BigInt(start), count, sum: parseDecimal(sumOfRates)! })
    }
  }
  return days
}

/** The day of a time; null without a payment. */
export function dayAt(days: readonly Day[], time: bigint): Day | null {
  const day = days[lastAtOrBefore(days, time)]
  return day !== undefined && time < day.start + DAY ? day : null
}

/** Midnight UTC before a time. */
export const midnightBefore = (time: bigint) => time - (time % DAY)

/** Exact values of the bars of days by their start: the sum, the same for 8 hours or a year, or the sum since the first day. */
export function dayValues(
  days: readonly Day[],
  { from, to }: Range,
  kind: BarKind,
): ReadonlyMap<bigint, Decimal> {
  let total: Decimal = ZERO
  const span = BAR_SPANS[kind]
  return new Map(
    days
      .filter(({ start }) => start < to && start + DAY > from)
      .map(({ start, sum }) => {
        total = add(total, sum)
        if (kind === 'cumulative') return [start, total]
        return [start, span === null ? sum : scaleBy(sum, span, DAY, PLACES)!]
      }),
  )
}

/** The bars of days, in percent. */
export function dayBars(values: ReadonlyMap<bigint, Decimal>): Bar[] {
  return [...values].map(([start, value]) => ({
    from: start,
    to: start + DAY,
    value: approximate(value) * 100,
    estimate: false,
  }))
}
