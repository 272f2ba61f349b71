import type uPlot from 'uplot'
import { add, approximate, type Decimal, parseDecimal, ZERO } from '../figures/decimal.ts'
import { formatRate } from '../figures/format-figure.ts'
import { formatTime } from '../figures/format-time.ts'
import { annualised, lengthOf, type Period, type Periods } from '../periods/period.ts'
import { secondsOf } from '../series/series.ts'

/** Values of the lines. */
export const COMPARE_KINDS = { annualised: 'Annualised', rate: 'Rate', cumulative: 'Cumulative' } as const

export type CompareKind = keyof typeof COMPARE_KINDS

export type Line = { marketId: string; periods: readonly Period[] }

/** The paid periods of markets, from the time on from which all are loaded; null if nothing is left out. */
export function fromOneStart(markets: readonly (Periods & { marketId: string })[]): {
  lines: readonly Line[]
  from: bigint | null
} {
  const starts = markets.flatMap(({ list, more }) => (more && list[0] !== undefined ? [list[0].start] : []))
  const from = starts.length === 0 ? null : starts.reduce((a, b) => (a > b ? a : b))
  const lines = markets.map(({ marketId, list }) => ({
    marketId,
    periods: list.filter(
      (period) =>
        period.rate !== null && (lengthOf(period) ?? 0n) > 0n && (from === null || period.start >= from),
    ),
  }))
  return { lines, from }
}

/** Describes a market's line at a time, or at its end. */
export function describeLine(periods: readonly Period[], kind: CompareKind, at: bigint | null): string {
  const index = at === null ? periods.length - 1 : periods.findLastIndex(({ start }) => start <= at)
  const period = periods[index]
  if (period === undefined) return 'no paid period'
  const value = valuesOf(periods, kind)[index]
  const text = value == null ? '–' : formatRate(value, kind === 'rate' ? 4 : 2)
  return `${text} · period ${period.seq}, ${formatTime(period.start).slice(0, 16)}`
}

/** The value of each period, exact. */
export function valuesOf(periods: readonly Period[], kind: CompareKind): (Decimal | null)[] {
  let sum: Decimal = ZERO
  return periods.map((period) => {
    const rate = parseDecimal(period.rate ?? '')
    if (rate === null) return null
    if (kind === 'annualised') return annualised(period.rate, lengthOf(period))
    sum = add(sum, rate)
    return kind === 'rate' ? rate : sum
  })
}

/** One place for each start and end of a period of any market; a line is broken if its market has no period. */
export function columnsOf(lines: readonly Line[], kind: CompareKind): uPlot.AlignedData {
  const times = [
    ...new Set(lines.flatMap(({ periods }) => periods.flatMap(({ start, end }) => [start, end!]))),
  ].sort((left, right) => (left < right ? -1 : 1))
  const places = new Map(times.map((time, index) => [time, index]))
  const columns = lines.map(({ periods }) => {
    const values = valuesOf(periods, kind)
    const column: (number | null | undefined)[] = times.map(() => undefined)
    for (const [index, { start, end }] of periods.entries()) {
      const value = values[index] ?? null
      const drawn = value === null ? null : approximate(value) * 100
      column[places.get(start)!] = drawn
      const after = periods[index + 1]
      if (after === undefined) column[places.get(end!)!] = drawn
      else if (after.start !== end) column[places.get(end!)!] = null
    }
    return column
  })
  return [times.map(secondsOf), ...columns] as uPlot.AlignedData
}
