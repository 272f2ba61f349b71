import type { FundingEstimate } from 'lyra-client'
import type { Bar } from '../charts/draw.ts'
import { add, approximate, type Decimal, parseDecimal } from '../figures/decimal.ts'
import {
  dueWithin,
  endOf,
  expectedLength,
  lengthOf,
  type Period,
  RATE_SPANS,
  rateFor,
  within,
} from '../periods/period.ts'
import { lastAtOrBefore, type Moment, type Range } from '../series/series.ts'

/** Values of the bars in the chart of rates. */
export const BAR_KINDS = {
  rate: 'Rate',
  '8h': 'Per 8 hours',
  annualised: 'Annualised',
  cumulative: 'Cumulative',
} as const

const ZERO: Decimal = { digits: 0n, scale: 0 }

export type BarKind = keyof typeof BAR_KINDS

/** The bars of the periods of a range, in percent, followed by the estimate of the running one. */
export function barsOf(
  periods: readonly Period[],
  shown: Range,
  estimate: FundingEstimate | null,
  kind: BarKind,
  before: Decimal | null = ZERO,
): Bar[] {
  const values = barValues(periods, shown, estimate, kind, before)
  const placeOf = (seq: bigint) => {
    const value = values.get(seq) ?? null
    return value === null ? null : approximate(value) * 100
  }
  const bars = within(periods, shown).flatMap((period, index, all): Bar[] => {
    const to = endOf(all, index, shown.to)
    return to === period.start
      ? []
      : [{ from: period.start, to, value: placeOf(period.seq), estimate: false }]
  })
  const running = runningPeriod(periods)
  if (estimate === null || running === null || `${running.seq}` !== estimate.seq) return bars
  const [from, to] = [running.start, BigInt(estimate.at)]
  return [
    ...bars.filter(({ from: start }) => start !== from),
    { from, to, value: placeOf(running.seq), estimate: true },
  ]
}

/**
 * Exact bar values by seq: the period's rate, its rate annualised, or the sum of the rates due in the range up to its
 * end. The current period has the estimate's.
 *
 * @param before the sum of the rates that were due in the range before these periods; null if it is not known: no sums
 */
export function barValues(
  periods: readonly Period[],
  shown: Range,
  estimate: FundingEstimate | null,
  kind: BarKind,
  before: Decimal | null = ZERO,
): ReadonlyMap<bigint, Decimal> {
  const due = new Set(dueWithin(periods, shown))
  const running = runningPeriod(periods)
  const values = new Map<bigint, Decimal>()
  if (kind === 'cumulative' && before === null) return values
  let sum = before ?? ZERO
  const inRange = new Set(within(periods, shown))
  for (const period of periods) {
    // A period that ends at the start of the range is paid in it, but has no bar.
    if (!inRange.has(period) && !due.has(period)) continue
    const isEstimate = period === running && estimate?.seq === `${period.seq}`
    const rate = isEstimate ? estimate.fundingRate : period.rate
    const number = rate === null ? null : parseDecimal(rate)
    if (number === null) continue
    if (isEstimate || due.has(period)) sum = add(sum, number)
    else if (kind === 'cumulative') continue
    const length = isEstimate ? expectedLength(periods) : lengthOf(period)
    const span = { rate: null, cumulative: null, '8h': RATE_SPANS['8h'], annualised: RATE_SPANS.year }[kind]
    const value = span === null ? (kind === 'rate' ? number : sum) : rateFor(span, rate, length)
    if (value !== null) values.set(period.seq, value)
  }
  return values
}

/**
 * The sum of the rates that were due in a range up to a time, the running estimate's too once it runs; null before the
 * first.
 *
 * @param cumulative the values of bars of that kind
 */
export function cumulativeAt(
  periods: readonly Period[],
  cumulative: ReadonlyMap<bigint, Decimal>,
  time: bigint,
): Decimal | null {
  const known = periods.findLast(({ seq, start }) => start <= time && cumulative.has(seq))
  return known === undefined ? null : cumulative.get(known.seq)!
}

/** The period that runs; null if none does: only the latest can. */
export function runningPeriod(periods: readonly Period[]): Period | null {
  const last = periods.at(-1)
  return last === undefined || last.end !== null ? null : last
}

/** Values at one time. */
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
