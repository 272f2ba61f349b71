import { useEffect, useRef } from 'preact/hooks'
import type { Bar } from '../../charts/bar.ts'
import type { Unit } from '../../figures/amount.ts'
import { useNarrow } from '../../parts/narrow.ts'
import type { Range } from '../../series/series.ts'
import { isDark } from '../../theme.ts'
import type { EstimateLine, FundingData } from './chart-columns.ts'
import { shownShades } from './chart-legends.ts'
import { type ChartName, FundingCharts } from './funding-charts.ts'
import { KEYS_TEXT, useChartKeys } from './use-chart-keys.ts'

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
  const keys = useChartKeys({ charts, data, range, onRange, onPoint, tip })
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
    keys.pointAgain()
  }, [range.from, range.to])
  useEffect(() => {
    if (data !== null) charts.current?.setData(data)
    keys.pointAgain()
  }, [data])
  useEffect(() => charts.current?.setBars(bars, line), [bars, line])
  useEffect(() => charts.current?.setHidden(hidden), [hidden])

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
        onKeyDown={keys.onKeyDown}
        onBlur={keys.onBlur}
      >
        <div ref={rates} class="chart" data-chart="rates" />
        <p id="chart-keys" class="visually-hidden">
          {KEYS_TEXT}
        </p>
        <p class="visually-hidden" aria-live="polite">
          {keys.spoken}
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
