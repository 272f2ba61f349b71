import type { HistoricEstimate, LyraClient } from 'lyra-client'
import { DAY } from '../../../../src/core/domain/time.ts'
import { approximate, type Decimal, parseDecimal } from '../../figures/decimal.ts'
import { expectedLength, lengthOf, type Period, rateFor } from '../../periods/period.ts'
import { subjectOf, type ViewRange } from '../../range/view-range.ts'
import { lastAtOrBefore, type Range } from '../../series/series.ts'
import { lyra } from '../../service/lyra.ts'
import { type Query, useQuery } from '../../service/use-query.ts'
import { BAR_SPANS, type BarKind } from '../data/reading.ts'
import type { EstimateLine } from './chart-columns.ts'

/** Estimates of one request, and how many requests there may be: more would not be seen. */
const PAGE = 5_000
const MOST_PAGES = 3

/** The longest range that the service answers. */
const LONGEST = 31n * DAY

/** What a period's payment was estimated to be, at a time. */
export type PastEstimate = {
  /** The time of a data point, or the end of the period; Unix nanoseconds. */
  start: bigint
  seq: bigint
  /** Null if it is not known. */
  rate: string | null
}

/** Estimates in time order, of which the earlier ones may be left out. */
export type PastEstimates = {
  list: readonly PastEstimate[]
  /** Whether the range has more than are asked for. */
  isCut: boolean
}

/** The estimates of a range at each time, if they are shown; null data if not. */
export function usePastEstimates(marketId: string, isShown: boolean, range: ViewRange): Query<PastEstimates> {
  const { from, to } = range
  // A range that follows the latest point is asked for again once it has moved visibly.
  const step = (to - from) / 200n + 1n
  return useQuery(
    isShown ? `${marketId} ${subjectOf(range)}` : null,
    (signal) => askPastEstimates(lyra, marketId, range, signal),
    { version: `${from / step} ${to / step}`, restMs: 300 },
  )
}

/** The estimates of a range; none if it has too many. */
export async function askPastEstimates(
  client: LyraClient,
  marketId: string,
  { from, to }: Range,
  signal?: AbortSignal,
): Promise<PastEstimates> {
  if (to - from > LONGEST) return { list: [], isCut: true }
  const list: PastEstimate[] = []
  let after: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const { fundingEstimateHistory: answer } = await client.fundingEstimateHistory(marketId, {
      from,
      to,
      first: PAGE,
      after,
      signal,
    })
    list.push(...answer.estimates.map(pastEstimate))
    if (answer.next === null) return { list, isCut: false }
    after = answer.next
  }
  return { list: [], isCut: true }
}

const pastEstimate = ({ timestamp, seq, fundingRate }: HistoricEstimate): PastEstimate => ({
  start: BigInt(timestamp),
  seq: BigInt(seq),
  rate: fundingRate,
})

/** A microsecond, which places in a chart can tell apart. */
const BREAK = 1_000n

/** The points of the line of estimates, in percent, on the basis of the bars; a null value breaks the line. Bars of sums have no such line. */
export function estimateLine(
  { list }: PastEstimates,
  periods: readonly Period[],
  kind: BarKind,
): EstimateLine {
  if (kind === 'cumulative') return []
  const valueIn = valueAs(kind, periods)
  const points: { time: bigint; value: number | null }[] = []
  let before: PastEstimate | undefined
  for (const estimate of list) {
    const value = valueIn(estimate)
    let time = estimate.start
    if (before !== undefined && before.seq !== estimate.seq) {
      // The next period may begin in the moment in which one ends.
      points.push({ time: before.start + BREAK, value: null })
      if (time <= before.start + BREAK) time = before.start + 2n * BREAK
    }
    points.push({ time, value: value === null ? null : approximate(value) * 100 })
    before = estimate
  }
  return points
}

/** The latest estimate at a time, as bars of a kind have it; null if there is none, or it is not known. */
export function estimateAt(
  { list }: PastEstimates,
  periods: readonly Period[],
  kind: BarKind,
  time: bigint,
): Decimal | null {
  const estimate = list[lastAtOrBefore(list, time)]
  return estimate === undefined || kind === 'cumulative' ? null : valueAs(kind, periods)(estimate)
}

/** The value of an estimate as bars of a kind have it: its rate, or that of another span. */
function valueAs(kind: Exclude<BarKind, 'cumulative'>, periods: readonly Period[]) {
  const span = BAR_SPANS[kind]
  if (span === null) return ({ rate }: PastEstimate) => (rate === null ? null : parseDecimal(rate))
  const lengths = new Map(periods.map((period) => [period.seq, lengthOf(period)]))
  const expected = expectedLength(periods)
  return ({ rate, seq }: PastEstimate) => rateFor(span, rate, lengths.get(seq) ?? expected)
}
