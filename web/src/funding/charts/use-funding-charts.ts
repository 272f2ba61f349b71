import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Bar } from '../../charts/bar.ts'
import type { Unit } from '../../figures/amount.ts'
import { useNarrow } from '../../parts/narrow.ts'
import type { Range } from '../../series/series.ts'
import { isDark } from '../../theme.ts'
import type { EstimateLine, FundingData } from './chart-columns.ts'
import { type ChartName, FundingCharts } from './funding-charts.ts'
import { type ChartKeys, useChartKeys } from './use-chart-keys.ts'

/** What the charts show, and what is done when they are moved or read. */
export type FundingChartsProps = {
  /** Null before the points are known. */
  data: FundingData | null
  bars: readonly Bar[]
  /** The line of estimates over the bars. */
  line: EstimateLine
  range: Range
  /** Names of the lines that are not drawn. */
  hidden: ReadonlySet<string>
  /** What prices are in; null if it is not known. */
  unit: Unit | null
  /** The reader chose another range; `settled` once the gesture has ended. */
  onRange: (range: Range, settled: boolean) => void
  /** The reader points to a time, or no longer to one. */
  onPoint: (time: bigint | null) => void
  /** Lines about a time: beside the pointer, and spoken of a point that keys choose. */
  tip: (time: bigint) => readonly string[]
}

/** The charts: where each is to be drawn, how keys move them, and how one is saved. */
export type DrawnCharts = {
  places: Record<ChartName, RefObject<HTMLDivElement | null>>
  keys: ChartKeys
  save: FundingCharts['save']
}

/** Draws the charts in the places that the panel gives them, and draws again what has changed. */
export function useFundingCharts(props: FundingChartsProps): DrawnCharts {
  const { data, bars, line, range, hidden, unit, onRange, onPoint, tip } = props
  const rates = useRef<HTMLDivElement>(null)
  const prices = useRef<HTMLDivElement>(null)
  const premium = useRef<HTMLDivElement>(null)
  const charts = useRef<FundingCharts | null>(null)
  const keys = useChartKeys({ charts, data, range, onRange, onPoint, tip })
  const latest = useRef(props)
  latest.current = props
  const dark = isDark()
  const narrow = useNarrow()
  const long = unit === null

  // Charts have the colours and the widths of the time at which they were created.
  useEffect(() => {
    const created = new FundingCharts({
      places: { rates: rates.current!, prices: prices.current!, premium: premium.current! },
      narrow,
      long,
      onRange: (next, settled) => latest.current.onRange(next, settled),
      onHover: (time) => latest.current.onPoint(time),
      tip: (time) => latest.current.tip(time),
    })
    charts.current = created
    created.setRange(latest.current.range)
    created.setHidden(latest.current.hidden)
    if (latest.current.data !== null) created.setData(latest.current.data)
    created.setBars(latest.current.bars, latest.current.line)
    return () => created.destroy()
  }, [dark, narrow, long])
  useEffect(() => {
    charts.current?.setRange(range)
    keys.pointAgain()
  }, [range.from, range.to])
  useEffect(() => {
    if (data !== null) charts.current?.setData(data)
    keys.pointAgain()
  }, [data])
  useEffect(() => charts.current?.setBars(bars, line), [bars, line])
  useEffect(() => charts.current?.setHidden(hidden), [hidden])

  return {
    places: { rates, prices, premium },
    keys,
    save: async (name, texts) => charts.current?.save(name, texts),
  }
}
