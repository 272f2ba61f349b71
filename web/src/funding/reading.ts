import type { FundingEstimate } from 'lyra-client'
import type { Bar } from '../charts/draw.ts'
import { add, approximate, type Decimal, parseDecimal } from '../figures/decimal.ts'
import { annualised, endOf, expectedLength, lengthOf, type Period, within } from '../periods/period.ts'
import { lastAtOrBefore, type Moment, type Range } from '../series/series.ts'

/** What the bars of the chart of rates stand for. */
export const BAR_KINDS = {
  rate: 'Rate',
  annualised: 'Annualised',
  cumulative: 'Cumulative',
} as const

export type BarKind = keyof typeof BAR_KINDS

/** The bars of the periods of a range, in percent, followed by the estimate of the running one. */
export function barsOf(
  periods: readonly Period[],
  shown: Range,
  estimate: FundingEstimate | null,
  kind: BarKind,
): Bar[] {
  let sum: Decimal = { digits: 0n, scale: 0 }
  const placeOf = (rate: string | null, length: bigint | null): number | null => {
    const number = rate === null ? null : parseDecimal(rate)
    if (number === null) return null
    if (kind === 'cumulative') sum = add(sum, number)
    const value = { rate: number, cumulative: sum, annualised: null }[kind] ?? annualised(rate, length)
    return value === null ? null : approximate(value) * 100
  }
  const bars = within(periods, shown).flatMap((period, index, all): Bar[] => {
    const to = endOf(all, index, shown.to)
    return to === period.start
      ? []
      : [{ from: period.start, to, value: placeOf(period.rate, lengthOf(period)), estimate: false }]
  })
  const running = runningPeriod(periods)
  if (estimate === null || running === null || `${running.seq}` !== estimate.seq) return bars
  const [from, to] = [running.start, BigInt(estimate.at)]
  return [
    ...bars.filter(({ from: start }) => start !== from),
    { from, to, value: placeOf(estimate.fundingRate, expectedLength(periods)), estimate: true },
  ]
}

/** The period that runs; null where none does: only the latest can. */
export function runningPeriod(periods: readonly Period[]): Period | null {
  const last = periods.at(-1)
  return last === undefined || last.end !== null ? null : last
}

/** What is known of one time. */
export type Reading = {
  time: bigint
  moment: Moment | null
  period: Period | null
  /** Whether the periods are known: they come by an answer of their own. */
  periodsKnown: boolean
  /** Whether the period is the market's latest. */
  latest: boolean
}

/** @param known the periods; null before they are known */
export function readingAt(
  moments: readonly Moment[],
  known: readonly Period[] | null,
  time: bigint,
): Reading {
  const periods = known ?? []
  const index = lastAtOrBefore(periods, time)
  const period = periods[index] ?? null
  const within = period !== null && (period.end === null || time < period.end || index === periods.length - 1)
  return {
    time,
    moment: moments[lastAtOrBefore(moments, time)] ?? null,
    period: within ? period : null,
    periodsKnown: known !== null,
    latest: index === periods.length - 1,
  }
}
