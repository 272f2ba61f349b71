import type { LyraClient } from 'lyra-client'
import type uPlot from 'uplot'
import { add, approximate, type Decimal, parseDecimal, scaleBy, ZERO } from '../figures/decimal.ts'
import { formatRate } from '../figures/format-figure.ts'
import { formatDay, formatMinute } from '../figures/format-time.ts'
import { askDays, type Day, daysOf } from '../funding/days.ts'
import { DAY } from '../funding/view-range.ts'
import { askPeriods, dueWithin, type Periods, RATE_SPANS } from '../periods/period.ts'
import { type Range, secondsOf } from '../series/series.ts'
import { RATE_BASES, type RateBasis } from './summary.ts'

/** Values of the lines. */
export const COMPARE_KINDS = { rate: 'Rate', cumulative: 'Cumulative' } as const

export type CompareKind = keyof typeof COMPARE_KINDS

/** Longer ranges are drawn in sums by day, of every market: periods of all lengths have the same time. */
export const LONGEST = 92n * DAY

/** Periods of each market at most: in the longest range, of an hour each and shorter ones. */
export const MOST_PERIODS = 5_000

/** Decimal places of a rate that is brought to another span. */
const PLACES = 18

/** The rate due for a period, or on a day, and what it is of: `period 91, paid 2024-10-01 16:00`. */
export type Due = { start: bigint; end: bigint; rate: Decimal; name: string }

export type Line = {
  marketId: string
  due: readonly Due[]
  /** When its loaded periods begin, if the range has more; else null. */
  from: bigint | null
}

export type Lines = { lines: readonly Line[]; byDay: boolean }

/** Requests the rates due for markets in a range. */
export async function askLines(
  lyra: Pick<LyraClient, 'fundingPeriodsPage' | 'fundingRates'>,
  marketIds: readonly string[],
  range: Range,
  held: Range,
  signal?: AbortSignal,
): Promise<Lines> {
  const byDay = range.to - range.from > LONGEST
  const lines = marketIds.map(async (marketId) => {
    if (byDay) return lineOfDays(marketId, await askDays(lyra, marketId, daysOf(range, held), signal))
    // The first payment in the range may be for a period that began before.
    const asked = { marketId, from: range.from - DAY, to: range.to }
    return lineOfPeriods(marketId, await askPeriods(lyra, asked, MOST_PERIODS, signal), range)
  })
  return { lines: await Promise.all(lines), byDay }
}

export function lineOfPeriods(marketId: string, { list, more }: Periods, range: Range): Line {
  const [oldest] = list
  return {
    marketId,
    due: dueWithin(list, range)
      .filter(({ start, end }) => end! > start)
      .map(({ seq, start, end, rate }) => ({
        start,
        end: end!,
        rate: parseDecimal(rate!) ?? ZERO,
        name: `period ${seq}, paid ${formatMinute(end!)}`,
      })),
    from: more && oldest !== undefined && oldest.start > range.from ? oldest.start : null,
  }
}

export function lineOfDays(marketId: string, days: readonly Day[]): Line {
  const due = days.map(({ start, sum }) => ({
    start,
    end: start + DAY,
    rate: sum,
    name: `day ${formatDay(start)}`,
  }))
  return { marketId, due, from: null }
}

/** Meaning of the lines. */
export function titleOf(kind: CompareKind, basis: RateBasis, byDay: boolean): string {
  if (kind === 'cumulative') return `Cumulative funding rates${byDay ? ', by day' : ''}`
  if (!byDay) return `Funding rates per ${RATE_BASES[basis]}`
  return basis === 'period'
    ? 'Funding rates, sum of each day'
    : `Funding rates per ${RATE_BASES[basis]}, by day`
}

/**
 * Describes a market's line at a time, or at its end.
 *
 * @param isComplete whether all payments of the range are stored
 */
export function describeLine(
  due: readonly Due[],
  kind: CompareKind,
  basis: RateBasis,
  at: bigint | null,
  isComplete = true,
): string {
  const index = at === null ? due.length - 1 : due.findLastIndex(({ start }) => start <= at)
  const one = due[index]
  if (one === undefined) return isComplete ? 'no payment' : 'no payment is stored'
  const places = kind === 'rate' && basis !== 'year' ? 4 : 2
  return `${formatRate(valuesOf(due, kind, basis)[index]!, places)} · ${one.name}`
}

/** The value of each payment, exact: its rate on a basis, or the sum so far. */
export function valuesOf(due: readonly Due[], kind: CompareKind, basis: RateBasis): Decimal[] {
  let sum: Decimal = ZERO
  return due.map(({ start, end, rate }) => {
    sum = add(sum, rate)
    if (kind === 'cumulative') return sum
    return basis === 'period' ? rate : scaleBy(rate, RATE_SPANS[basis], end - start, PLACES)!
  })
}

/** One place for each start and end of a payment's time; a line is broken where its market has none. */
export function columnsOf(lines: readonly Line[], kind: CompareKind, basis: RateBasis): uPlot.AlignedData {
  const times = [...new Set(lines.flatMap(({ due }) => due.flatMap(({ start, end }) => [start, end])))].sort(
    (left, right) => (left < right ? -1 : 1),
  )
  const places = new Map(times.map((time, index) => [time, index]))
  const columns = lines.map(({ due }) => {
    const values = valuesOf(due, kind, basis)
    const column: (number | null | undefined)[] = times.map(() => undefined)
    for (const [index, { start, end }] of due.entries()) {
      const value = approximate(values[index]!) * 100
      column[places.get(start)!] = value
      const after = due[index + 1]
      if (after === undefined) column[places.get(end)!] = value
      else if (after.start !== end) column[places.get(end)!] = null
    }
    return column
  })
  return [times.map(secondsOf), ...columns] as uPlot.AlignedData
}
