import { useMemo } from 'preact/hooks'
import type { Bar } from '../../charts/bar.ts'
import type { Shade } from '../../charts/draw.ts'
import { useGapShades } from '../../charts/gap-times.ts'
import { type Decimal, parseDecimal, subtract, writeDecimal, ZERO } from '../../figures/decimal.ts'
import { cumulative, dueWithin, type Period } from '../../periods/period.ts'
import { auctionTimes } from '../../series/auctions.ts'
import { lastAtOrBefore, momentsOf } from '../../series/series.ts'
import { latestCoverage } from '../../service/coverage.ts'
import { marketUnit } from '../../service/instruments.ts'
import { type Query, type QueryState, together } from '../../service/use-query.ts'
import { areAllOf, type Day, dayBars, dayValues } from '../data/days.ts'
import { type BarKind, barsOf, barValues, cumulativeAt, type Reading, readingAt } from '../data/reading.ts'
import type { Shown } from '../data/shown.ts'
import type { Funding } from '../data/use-funding.ts'
import type { RangePayments } from '../data/use-payments.ts'
import type { EstimateLine, FundingData } from './chart-columns.ts'
import { estimateAt, estimateLine, type PastEstimates, usePastEstimates } from './past-estimates.ts'
import { tipLines } from './readout.tsx'

/** What the charts of a market draw, and what they say of a time. */
export type Chart = {
  /** How current all that is drawn is. */
  state: QueryState
  /** Null before the points are known. */
  data: FundingData | null
  bars: readonly Bar[]
  /** Estimates at each time, over the bars; empty if they are not shown. */
  line: EstimateLine
  /** The exact values of the bars, by seq of their period, or by the start of their day. */
  values: { kind: BarKind; values: ReadonlyMap<bigint, Decimal> }
  /** The days of which bars are drawn; null if they are of periods. */
  days: readonly Day[] | null
  /** Whether the reader may choose to see estimates at each time, and has done so. */
  mayHaveEstimates: boolean
  hasEstimates: boolean
  estimates: Query<PastEstimates>
  /** The values at a time; null before the points are known. */
  readingAt(time: bigint): Reading | null
  /** The sum of the rates due in the range up to a time. */
  cumulativeAt(time: bigint): Decimal | null
  /** A reading in lines; none before the points are known. */
  tipAt(time: bigint): readonly string[]
}

/** Prepares what is drawn of a market's funding. Data, bars and line are the same until they change, because they are drawn anew then. */
export function useChart(marketId: string, funding: Funding, { range, kind, wantsEstimates }: Shown): Chart {
  const { series, periods, estimate, auctions, days, byDay } = funding
  const unit = marketUnit(marketId)
  const list = periods.data?.list ?? []
  const dayList = days.data ?? []
  const data = useChartData(funding, unit?.decimals ?? 0)

  const before = sumBefore(funding, range)
  const valuesAs = (kind: BarKind) =>
    byDay ? dayValues(dayList, range, kind) : barValues(list, range, estimate.data, kind, before)
  const bars = useMemo(
    () => (byDay ? dayBars(valuesAs(kind)) : barsOf(list, range, estimate.data, kind, before)),
    [
      periods.data,
      byDay,
      days.data,
      estimate.data,
      kind,
      range.from,
      range.to,
      before === null ? null : writeDecimal(before),
    ],
  )
  const values = { kind, values: valuesAs(kind) }

  const mayHaveEstimates = !byDay && kind !== 'cumulative'
  const hasEstimates = mayHaveEstimates && wantsEstimates
  const estimates = usePastEstimates(marketId, hasEstimates, range)
  const past = hasEstimates ? estimates.data : null
  const line = useMemo(
    () => (past === null ? [] : estimateLine(past, list, kind)),
    [past, periods.data, kind],
  )

  const shownDays = byDay ? dayList : null
  return {
    state: together(series, periods, estimate, auctions, days),
    data,
    bars,
    line,
    values,
    days: shownDays,
    mayHaveEstimates,
    hasEstimates,
    estimates,
    readingAt: (time) => (data === null ? null : readingAt(data, time)),
    cumulativeAt: (time) => {
      const sums = valuesAs('cumulative')
      if (!byDay) return cumulativeAt(list, sums, time)
      const day = dayList[lastAtOrBefore(dayList, time)]
      return day === undefined ? null : (sums.get(day.start) ?? null)
    },
    tipAt: (time) => {
      if (data === null) return []
      const estimate = past === null ? null : estimateAt(past, list, kind, time)
      return tipLines(readingAt(data, time), values, shownDays, unit, estimate)
    },
  }
}

/** What the lines are drawn from, with the times of auctions and gaps. */
function useChartData({ series, periods, auctions }: Funding, decimals: number): FundingData | null {
  const { gaps, lastTimestamp } = latestCoverage()!.blocks
  const gapShades = useGapShades(gaps)
  const auctionShades = useMemo(
    () =>
      auctionTimes(auctions.data ?? [], BigInt(lastTimestamp)).map(
        (at): Shade => ({ ...at, kind: 'auction' }),
      ),
    [auctions.data, lastTimestamp],
  )
  return useMemo(() => {
    if (series.data === null) return null
    return {
      moments: momentsOf(series.data),
      bucket: series.data.bucket,
      periods: periods.data?.list ?? null,
      shades: [...auctionShades, ...gapShades],
      decimals,
    }
  }, [series.data, periods.data, auctionShades, gapShades, decimals])
}

/** The sum of the rates that were due in a range before the first loaded period; null if it is not known. */
function sumBefore({ periods, payments }: Funding, range: Shown['range']): Decimal | null {
  if (periods.data !== null && areAllOf(periods.data, range)) return ZERO
  if (payments.isOther || payments.data === null) return null
  return withoutLoaded(payments.data, periods.data?.list ?? [])
}

/** The sum of the rates of a range, without those of loaded periods. */
function withoutLoaded({ sumOfRates, range }: RangePayments, list: readonly Period[]): Decimal | null {
  const sum = parseDecimal(sumOfRates)
  return sum === null ? null : subtract(sum, cumulative(dueWithin(list, range)))
}
