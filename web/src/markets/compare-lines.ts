import { add, type Decimal, parseDecimal } from '../figures/decimal.ts'
import { formatRate } from '../figures/format-figure.ts'
import { formatTime } from '../figures/format-time.ts'
import { annualised, lengthOf, type Period, type Periods } from '../periods/period.ts'

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
  let sum: Decimal = { digits: 0n, scale: 0 }
  return periods.map((period) => {
    const rate = parseDecimal(period.rate ?? '')
    if (rate === null) return null
    if (kind === 'annualised') return annualised(period.rate, lengthOf(period))
    sum = add(sum, rate)
    return kind === 'rate' ? rate : sum
  })
}
