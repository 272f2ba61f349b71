import type { FundingEstimate } from 'lyra-client'
import type { Bar } from '../../charts/bar.ts'
import { add, approximate, type Decimal, parseDecimal, ZERO } from '../../figures/decimal.ts'
import {
  dueWithin,
  endOf,
  expectedLength,
  lengthOf,
  type Period,
  RATE_SPANS,
  rateFor,
  within,
} from '../../periods/period.ts'
import { type Bucket, lastAtOrBefore, type Moment, type Range } from '../../series/series.ts'

/** Values of the bars in the chart of rates. */
export const BAR_KINDS = {
  rate: 'Rate',
  '8h': 'Per 8 hours',
  annualised: 'Annualised',
  cumulative: 'Cumulative',
} as const

export type BarKind = keyof typeof BAR_KINDS

/** The span that a bar's rate is brought to; null for that of its period. */
export const BAR_SPANS: Record<BarKind, bigint | null> = {
  rate: null,
  '8h': RATE_SPANS['8h'],
  annualised: RATE_SPANS.year,
  cumulative: null,
}

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
 * Exact bar values by seq: the period's rate, the same for 8 hours or a year, or the sum of the rates due in the range up to
 * its end. The running period has the estimate's.
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
    const span = BAR_SPANS[kind]
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

/** The running period; null without one. Only the latest can run. */
export function runningPeriod(periods: readonly Period[]): Period | null {
  const last = periods.at(-1)
  return last === undefined || last.end !== null ? null : last
}

/** Title of the chart of rates. */
export function titleOf(kind: BarKind, byDay: boolean): string {
  if (kind === 'cumulative') return `Cumulative funding rate${byDay ? ', by day' : ''}`
  return byDay ? 'Funding rates, sum of each day' : 'Funding rate of each period'
}

/** Values at one time, all of one funding period but for the prices. */
export type Reading = {
  time: bigint
  moment: Moment | null
  /** The period's number; null if there is none. */
  seq: bigint | null
  /** The period; null if it is not loaded. */
  period: Period | null
  /** Whether the periods are known: another request asks for them. */
  periodsKnown: boolean
  /** Whether the period is the market's latest. */
  latest: boolean
  /** The buckets whose TWAPs are of the period. */
  twaps: { external: Bucket | null; internal: Bucket | null }
  /** The moment's pair and the figures that follow from it, if they are of the period. */
  pair: Moment['pair']
  difference: Decimal | null
}

/**
 * The values at a time. They are of the period that the bucket of this time names, which is the latest in it; a time
 * without a bucket is in the period that ran then.
 *
 * @param data its periods are null before they are known
 */
export function readingAt(
  data: { moments: readonly Moment[]; bucket: bigint; periods: readonly Period[] | null },
  time: bigint,
): Reading {
  const periods = data.periods ?? []
  const moment = data.moments[lastAtOrBefore(data.moments, time)] ?? null
  const named = moment === null ? null : latestSeq(moment)
  const isInBucket = moment !== null && time < moment.start + data.bucket
  const seq = (isInBucket ? null : seqAt(periods, time)) ?? named
  const ofPeriod = (bucket: Bucket | null | undefined) => (bucket?.seq === seq ? (bucket ?? null) : null)
  const pair = ofPeriod(moment?.pair?.internal) === null ? null : moment!.pair
  const period = periods.findLast((one) => one.seq === seq) ?? null
  return {
    time,
    moment,
    seq,
    period,
    pair,
    periodsKnown: data.periods !== null,
    latest: period !== null && period === periods.at(-1),
    twaps: { external: ofPeriod(moment?.external), internal: ofPeriod(moment?.internal) },
    difference: pair === null ? null : moment!.difference,
  }
}

function latestSeq({ external, internal }: Moment): bigint | null {
  if (external === null || internal === null) return (external ?? internal)?.seq ?? null
  return external.seq > internal.seq ? external.seq : internal.seq
}

/** The number of the loaded period that ran at a time. */
function seqAt(periods: readonly Period[], time: bigint): bigint | null {
  const index = lastAtOrBefore(periods, time)
  const period = periods[index]
  const ran =
    period !== undefined && (period.end === null || time < period.end || index === periods.length - 1)
  return ran ? period.seq : null
}
