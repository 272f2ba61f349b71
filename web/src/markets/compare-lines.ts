import type { LyraClient } from 'lyra-client'
import type uPlot from 'uplot'
import { DAY } from '../../../src/core/domain/time.ts'
import { formatAmountWithUnit } from '../figures/amount.ts'
import {
  add,
  approximate,
  type Decimal,
  multiply,
  parseDecimal,
  scaleBy,
  subtract,
  writeDecimal,
  ZERO,
} from '../figures/decimal.ts'
import { formatRate, groupDigits } from '../figures/format-figure.ts'
import { formatDay, formatMinute } from '../figures/format-time.ts'
import { askDays, type Day, daysOf } from '../funding/data/days.ts'
import { askPeriods, dueWithin, type Periods, RATE_SPANS } from '../periods/period.ts'
import { type Range, secondsOf } from '../series/series.ts'
import { RATE_BASES, type RateBasis } from './rates.ts'

/** Values of the lines. */
export const COMPARE_KINDS = { money: 'Money', cumulative: 'Cumulative', rate: 'Rate' } as const

export type CompareKind = keyof typeof COMPARE_KINDS

/** What the lines show of the rates due. */
export type Shown = {
  kind: CompareKind
  basis: RateBasis
  /** What the position is worth at each payment whose money is shown: below zero for a short one. */
  worth: Decimal
  /** The symbol of the asset that all markets settle in; empty if they have several, or it is not known. */
  symbol: string
}

/** What a position is worth if the address names no worth. */
export const USUAL_WORTH = '1000'

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
  stored: Range,
  signal?: AbortSignal,
): Promise<Lines> {
  const byDay = range.to - range.from > LONGEST
  const lines = marketIds.map(async (marketId) => {
    if (byDay) return lineOfDays(marketId, await askDays(lyra, marketId, daysOf(range, stored), signal))
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
export function titleOf({ kind, basis, worth, symbol }: Shown, byDay: boolean): string {
  const days = byDay ? ', by day' : ''
  if (kind === 'money') {
    const size = writeDecimal(worth).replace('-', '')
    const worthText = `${groupDigits(size)}${symbol === '' ? '' : ` ${symbol}`}`
    return `Funding received by a ${worth.digits < 0n ? 'short' : 'long'} position worth ${worthText}, cumulative${days}`
  }
  if (kind === 'cumulative') return `Cumulative funding rates${days}`
  if (!byDay) return `Funding rates per ${RATE_BASES[basis]}`
  return basis === 'period'
    ? 'Funding rates, sum of each day'
    : `Funding rates per ${RATE_BASES[basis]}, by day`
}

/** The text behind figures of this kind. */
export const suffixOf = ({ kind, symbol }: Shown) =>
  kind !== 'money' ? ' %' : symbol === '' ? '' : ` ${symbol}`

/** A value of a line in words. */
export function describeValue(value: Decimal, { kind, basis, symbol }: Shown): string {
  if (kind === 'money') {
    return formatAmountWithUnit(
      writeDecimal(value),
      { symbol, decimals: 0 },
      { places: 2, least: 2, signed: true },
    )
  }
  return formatRate(value, kind === 'rate' && basis !== 'year' ? 4 : 2)
}

/**
 * Describes a market's line at a time, or at its end.
 *
 * @param isComplete whether all payments of the range are stored
 */
export function describeLine(
  due: readonly Due[],
  shown: Shown,
  at: bigint | null,
  isComplete = true,
): string {
  const index = at === null ? due.length - 1 : due.findLastIndex(({ start }) => start <= at)
  const one = due[index]
  if (one === undefined) return isComplete ? 'no payment' : 'no payment is stored'
  return `${describeValue(valuesOf(due, shown)[index]!, shown)} · ${one.name}`
}

/** The value of each payment, exact: its rate on a basis, the sum so far, or what the position has received so far. */
export function valuesOf(due: readonly Due[], { kind, basis, worth }: Shown): Decimal[] {
  let sum: Decimal = ZERO
  return due.map(({ start, end, rate }) => {
    sum = add(sum, rate)
    if (kind === 'cumulative') return sum
    // A long position pays a positive rate.
    if (kind === 'money') return subtract(ZERO, multiply(sum, worth))
    return basis === 'period' ? rate : scaleBy(rate, RATE_SPANS[basis], end - start, PLACES)!
  })
}

/** A value and the times between which a line has it. */
type Step = { start: bigint; end: bigint; value: Decimal }

function stepsOf({ due }: Line, shown: Shown): Step[] {
  const values = valuesOf(due, shown)
  return due.map(({ start, end }, index) => ({ start, end, value: values[index]! }))
}

/** All starts and ends of the steps of several lines, in order. */
function timesOf(lines: readonly (readonly Step[])[]): bigint[] {
  return [...new Set(lines.flat().flatMap(({ start, end }) => [start, end]))].sort((a, b) => (a < b ? -1 : 1))
}

/**
 * The first line minus the second one, while both have a value; null if there are not two of them, or their rates are of periods
 * that may have different lengths.
 */
export function spreadOf(lines: readonly Line[], shown: Shown): Step[] | null {
  const [one, other] = lines
  if (lines.length !== 2 || (shown.kind === 'rate' && shown.basis === 'period')) return null
  const [steps, others] = [stepsOf(one!, shown), stepsOf(other!, shown)]
  const times = timesOf([steps, others])
  const valueAt = (all: readonly Step[]) => {
    let at = 0
    return (time: bigint) => {
      while (at < all.length - 1 && all[at + 1]!.start <= time) at++
      const step = all[at]
      return step !== undefined && step.start <= time && time < step.end ? step.value : null
    }
  }
  const [oneAt, otherAt] = [valueAt(steps), valueAt(others)]
  return times.slice(0, -1).flatMap((start, index) => {
    const [value, subtrahend] = [oneAt(start), otherAt(start)]
    return value === null || subtrahend === null
      ? []
      : [{ start, end: times[index + 1]!, value: subtract(value, subtrahend) }]
  })
}

/** Describes the spread at a time, or at its end. */
export function describeSpread(steps: readonly Step[], shown: Shown, at: bigint | null): string {
  const step = at === null ? steps.at(-1) : steps.findLast(({ start }) => start <= at)
  return step === undefined ? 'at no time do both have a value' : describeValue(step.value, shown)
}

/** One place for each start and end of a value's time; a line is broken where it has none. The spread comes last. */
export function columnsOf(lines: readonly Line[], shown: Shown): uPlot.AlignedData {
  const spread = spreadOf(lines, shown)
  const all = [...lines.map((line) => stepsOf(line, shown)), ...(spread === null ? [] : [spread])]
  const times = timesOf(all)
  const places = new Map(times.map((time, index) => [time, index]))
  const factor = shown.kind === 'money' ? 1 : 100
  const columns = all.map((steps) => {
    const column: (number | null | undefined)[] = times.map(() => undefined)
    for (const [index, { start, end, value }] of steps.entries()) {
      const drawn = approximate(value) * factor
      column[places.get(start)!] = drawn
      const after = steps[index + 1]
      if (after === undefined) column[places.get(end)!] = drawn
      else if (after.start !== end) column[places.get(end)!] = null
    }
    return column
  })
  return [times.map(secondsOf), ...columns] as uPlot.AlignedData
}
