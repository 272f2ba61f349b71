import { useEffect, useRef, useState } from 'preact/hooks'
import type { Bar } from '../charts/draw.ts'
import type { Unit } from '../figures/amount.ts'
import { useNarrow } from '../parts/narrow.ts'
import { lastAtOrBefore, type Range } from '../series/series.ts'
import { isDark } from '../theme.ts'
import { type ChartName, type Charts, createCharts, type FundingData } from './charts.ts'
import { readingAt } from './reading.ts'
import { describeReading } from './readout.tsx'
import { pan, zoom } from './view-range.ts'

const KEYS_TEXT =
  'Left and right arrows go from point to point, with Shift they move the range; plus and minus zoom; Home and End go to the first and the last point; Escape points at none.'

export type ChartPanelProps = {
  data: FundingData | null
  bars: readonly Bar[]
  range: Range
  hidden: ReadonlySet<string>
  unit: Unit | null
  /** What a chart is called in a file. */
  title: string
  onRange: (range: Range, settled: boolean) => void
  onPoint: (time: bigint | null) => void
  /** What stands above the first chart and above the second. */
  head: preact.ComponentChildren
  between: preact.ComponentChildren
}

/** The charts, moved and read by mouse, by touch and by keyboard. */
export function ChartPanel({
  data,
  bars,
  range,
  hidden,
  unit,
  title,
  onRange,
  onPoint,
  head,
  between,
}: ChartPanelProps) {
  const rates = useRef<HTMLDivElement>(null)
  const prices = useRef<HTMLDivElement>(null)
  const premium = useRef<HTMLDivElement>(null)
  const charts = useRef<Charts | null>(null)
  const pointed = useRef<number | null>(null)
  const [spoken, setSpoken] = useState('')
  const latest = useRef({ data, bars, range, hidden, onRange, onPoint })
  latest.current = { data, bars, range, hidden, onRange, onPoint }
  const dark = isDark()
  const narrow = useNarrow()
  const long = unit === null

  // The colours are read when the charts are made.
  useEffect(() => {
    const made = createCharts({
      places: { rates: rates.current!, prices: prices.current!, premium: premium.current! },
      narrow,
      long,
      onRange: (next, settled) => latest.current.onRange(next, settled),
      onHover: (time) => latest.current.onPoint(time),
    })
    charts.current = made
    made.setRange(latest.current.range)
    made.setHidden(latest.current.hidden)
    if (latest.current.data !== null) made.setData(latest.current.data)
    made.setBars(latest.current.bars)
    return () => made.destroy()
  }, [dark, narrow, long])
  useEffect(() => charts.current?.setRange(range), [range.from, range.to])
  useEffect(() => {
    if (data !== null) charts.current?.setData(data)
  }, [data])
  useEffect(() => charts.current?.setBars(bars), [bars])
  useEffect(() => charts.current?.setHidden(hidden), [hidden])

  const pointAt = (index: number | null) => {
    pointed.current = index
    const moment = index === null ? undefined : latest.current.data?.moments[index]
    charts.current?.point(moment?.start ?? null)
    onPoint(moment?.start ?? null)
    setSpoken(
      moment === undefined || data === null
        ? ''
        : describeReading(readingAt(data.moments, data.periods, moment.start), unit),
    )
  }
  const step = (by: number) => {
    const [first, last] = shownIndexes(data, range)
    if (last < first) return
    const from = pointed.current ?? (by > 0 ? first - 1 : last + 1)
    pointAt(Math.min(last, Math.max(first, from + by)))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // The buttons within have keys of their own.
    if (event.target !== event.currentTarget) return
    const [first, last] = shownIndexes(data, range)
    const actions: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? onRange(pan(range, -0.2), true) : step(-1)),
      ArrowRight: () => (event.shiftKey ? onRange(pan(range, 0.2), true) : step(1)),
      '+': () => onRange(zoom(range, 0.5), true),
      '=': () => onRange(zoom(range, 0.5), true),
      '-': () => onRange(zoom(range, 2), true),
      Home: () => last >= first && pointAt(first),
      End: () => last >= first && pointAt(last),
      Escape: () => pointAt(null),
    }
    const action = actions[event.key]
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    action()
  }
  const png = (name: ChartName, what: string) => (
    <button
      type="button"
      class="copy"
      aria-label={`Save as PNG: ${what}`}
      onClick={() => void charts.current?.save(name, `${title}: ${what}`, `${title} ${what}`)}
    >
      PNG
    </button>
  )
  return (
    <>
      <div class="chart-head">
        {head}
        {png('rates', 'funding rates')}
      </div>
      <div
        class="charts"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is read and moved by keys.
        tabIndex={0}
        role="application"
        aria-roledescription="chart"
        aria-label="Funding over time"
        aria-describedby="chart-keys"
        onKeyDown={onKeyDown}
        onBlur={() => pointed.current !== null && pointAt(null)}
      >
        <div ref={rates} class="chart" data-chart="rates" />
        <p id="chart-keys" class="visually-hidden">
          {KEYS_TEXT}
        </p>
        <p class="visually-hidden" aria-live="polite">
          {spoken}
        </p>
      </div>
      <p class="gestures">
        <span class="bar-key">
          <span class="key longs" /> longs pay <span class="key shorts" /> shorts pay{' '}
          <span class="key estimate" /> estimate
        </span>
        <span class="by-mouse">
          Point to read. Drag to zoom in, double click to zoom out, Ctrl and the wheel zoom, Shift and drag
          move. Keys on the chart: arrows, + and −.
        </span>
        <span class="by-touch">Tap to read, one finger moves, two zoom.</span>
      </p>
      <div class="chart-head">
        {between}
        {png('prices', 'prices and TWAPs')}
      </div>
      <div ref={prices} class="chart" data-chart="prices" />
      <div class="chart-head">
        <h2 class="chart-title">Premium: internal TWAP divided by external TWAP, minus 1</h2>
        {png('premium', 'premium')}
      </div>
      <div ref={premium} class="chart" data-chart="premium" />
    </>
  )
}

/** Indexes of the first and the last moment within a range. */
function shownIndexes(data: FundingData | null, { from, to }: Range): [number, number] {
  const moments = data?.moments ?? []
  return [lastAtOrBefore(moments, from - 1n) + 1, lastAtOrBefore(moments, to - 1n)]
}
