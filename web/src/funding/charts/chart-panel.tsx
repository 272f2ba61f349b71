import { useEffect, useRef, useState } from 'preact/hooks'
import type { Bar } from '../../charts/bar.ts'
import type { Unit } from '../../figures/amount.ts'
import { useNarrow } from '../../parts/narrow.ts'
import { pan, zoom } from '../../range/view-range.ts'
import { lastAtOrBefore, type Range } from '../../series/series.ts'
import { isDark } from '../../theme.ts'
import type { EstimateLine, FundingData } from './chart-columns.ts'
import { shownShades } from './chart-legends.ts'
import { type ChartName, FundingCharts } from './funding-charts.ts'

const KEYS_TEXT =
  'Left and right arrows move from point to point; with Shift they move the range. Plus and minus zoom. Home and End select the first and last point. Escape clears the selection.'

export type ChartPanelProps = {
  data: FundingData | null
  bars: readonly Bar[]
  /** The line of estimates over the bars. */
  line: EstimateLine
  /** Meaning of the bars, for a file. */
  barsText: string
  range: Range
  hidden: ReadonlySet<string>
  unit: Unit | null
  /** Title of a chart in a file. */
  title: string
  onRange: (range: Range, settled: boolean) => void
  onPoint: (time: bigint | null) => void
  /** Lines about a time: beside the pointer, and spoken of a point that keys choose. */
  tip: (time: bigint) => readonly string[]
  /** Elements above and below the first chart, above the second, and below it. */
  head: preact.ComponentChildren
  figures: preact.ComponentChildren
  legend: preact.ComponentChildren
  readout: preact.ComponentChildren
}

/** The charts, moved and read by mouse, by touch and by keyboard. */
export function ChartPanel({
  data,
  bars,
  line,
  barsText,
  range,
  hidden,
  unit,
  title,
  onRange,
  onPoint,
  tip,
  head,
  figures,
  legend,
  readout,
}: ChartPanelProps) {
  const rates = useRef<HTMLDivElement>(null)
  const prices = useRef<HTMLDivElement>(null)
  const premium = useRef<HTMLDivElement>(null)
  const charts = useRef<FundingCharts | null>(null)
  /** The end of the bucket that was chosen by keys. */
  const pointed = useRef<bigint | null>(null)
  const [spoken, setSpoken] = useState('')
  const latest = useRef({ data, bars, line, range, hidden, onRange, onPoint, tip })
  latest.current = { data, bars, line, range, hidden, onRange, onPoint, tip }
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
    pointAgain()
  }, [range.from, range.to])
  useEffect(() => {
    if (data !== null) charts.current?.setData(data)
    pointAgain()
  }, [data])
  useEffect(() => charts.current?.setBars(bars, line), [bars, line])
  useEffect(() => charts.current?.setHidden(hidden), [hidden])

  const momentAt = (time: bigint) => {
    const moments = latest.current.data?.moments ?? []
    return moments[lastAtOrBefore(moments, time)]
  }
  const pointAt = (index: number | null) => {
    const moment = index === null ? undefined : data?.moments[index]
    pointed.current = moment === undefined ? null : moment.start + data!.bucket - 1n
    charts.current?.point(moment?.start ?? null)
    onPoint(moment?.start ?? null)
    setSpoken(moment === undefined ? '' : tip(moment.start).join('; '))
  }
  /** A point that was chosen by keys stays chosen while the range or the data change about it. */
  const pointAgain = () =>
    // uPlot knows the places of the new range only then.
    queueMicrotask(() => {
      const moment = pointed.current === null ? undefined : momentAt(pointed.current)
      if (moment === undefined) return
      charts.current?.point(moment.start)
      latest.current.onPoint(moment.start)
    })
  const step = (by: number) => {
    const [first, last] = shownIndexes(data, range)
    if (last < first) return
    const at = pointed.current === null ? null : lastAtOrBefore(data!.moments, pointed.current)
    const from = at ?? (by > 0 ? first - 1 : last + 1)
    pointAt(Math.min(last, Math.max(first, from + by)))
  }
  const zoomBy = (factor: number) => onRange(zoom(range, factor, placeIn(range, pointed.current)), true)
  const onKeyDown = (event: KeyboardEvent) => {
    // The buttons within have keys of their own.
    if (event.target !== event.currentTarget) return
    const [first, last] = shownIndexes(data, range)
    const actions: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? onRange(pan(range, -0.2), true) : step(-1)),
      ArrowRight: () => (event.shiftKey ? onRange(pan(range, 0.2), true) : step(1)),
      '+': () => zoomBy(0.5),
      '=': () => zoomBy(0.5),
      '-': () => zoomBy(2),
      Home: () => last >= first && pointAt(first),
      End: () => last >= first && pointAt(last),
      Escape: () => pointAt(null),
    }
    const action = actions[event.key]
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    action()
  }
  const { hasAuctions, hasGaps } = shownShades(data, range)
  const unitText = unit === null ? 'whole numbers as sent' : `in ${unit.symbol}`
  const png = (name: ChartName, what: string, figures: string) => (
    <button
      type="button"
      class="copy"
      aria-label={`Save as PNG: ${what}`}
      onClick={() =>
        void charts.current?.save(name, { title: `${title}: ${what}`, figures, name: `${title} ${what}` })
      }
    >
      PNG
    </button>
  )
  return (
    <>
      <div class="chart-head">
        {head}
        {png('rates', 'funding rates', barsText)}
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
      {figures}
      <div class="chart-head">
        <span class="bar-key">
          <Key look="longs">longs pay</Key> <Key look="shorts">shorts pay</Key>{' '}
          <Key look="estimate">estimate</Key>{' '}
          {line.length > 0 && <Key look="estimate-line">estimate at each time</Key>}{' '}
          <Key look="band">every other funding period</Key>{' '}
          {hasAuctions && <Key look="auction">in auction</Key>}{' '}
          {hasGaps && <Key look="gap">blocks are missing</Key>}
        </span>
        {legend}
        {png('prices', 'prices and TWAPs', `Prices and TWAPs, ${unitText}`)}
      </div>
      <div ref={prices} class="chart" data-chart="prices" />
      <p class="gestures">
        <span class="by-mouse">
          Hover for values · drag to zoom in · double-click to zoom out · Ctrl + wheel to zoom · Shift + drag
          to pan · keys on the chart: arrows, + and −
        </span>
        <span class="by-touch">Tap for values · one finger pans · two fingers zoom</span>
      </p>
      {readout}
      <div class="chart-head">
        <h2 class="chart-title">Premium: (internal TWAP − external TWAP) ÷ external TWAP</h2>
        {png('premium', 'premium', '(Internal TWAP − external TWAP) ÷ external TWAP, in %')}
      </div>
      <div ref={premium} class="chart" data-chart="premium" />
    </>
  )
}

function Key({ look, children }: { look: string; children: preact.ComponentChildren }) {
  return (
    <span class="key-item">
      <span class={`key ${look}`} aria-hidden="true" /> {children}
    </span>
  )
}

/** Position of a time in a range, from 0 to 1; 0.5 for a time outside it. */
function placeIn({ from, to }: Range, time: bigint | null): number {
  return time === null || time < from || time >= to ? 0.5 : Number(time - from) / Number(to - from)
}

/** Indexes of the first and the last moment within a range. */
function shownIndexes(data: FundingData | null, { from, to }: Range): [number, number] {
  const moments = data?.moments ?? []
  return [lastAtOrBefore(moments, from - 1n) + 1, lastAtOrBefore(moments, to - 1n)]
}
