import { shownShades } from './chart-legends.ts'
import type { ChartName } from './funding-charts.ts'
import { KEYS_TEXT } from './use-chart-keys.ts'
import { type FundingChartsProps, useFundingCharts } from './use-funding-charts.ts'

export type ChartPanelProps = FundingChartsProps & {
  /** Title of a chart in a file. */
  title: string
  /** Meaning of the bars, for a file. */
  barsText: string
  /** Elements above and below the first chart, above the second, and below it. */
  head: preact.ComponentChildren
  figures: preact.ComponentChildren
  legend: preact.ComponentChildren
  readout: preact.ComponentChildren
}

/** The charts, moved and read by mouse, by touch and by keyboard. */
export function ChartPanel({ title, barsText, head, figures, legend, readout, ...charts }: ChartPanelProps) {
  const { places, keys, save } = useFundingCharts(charts)
  const { hasAuctions, hasGaps } = shownShades(charts.data, charts.range)
  const { unit } = charts
  const unitText = unit === null ? 'whole numbers as sent' : `in ${unit.symbol}`
  const png = (name: ChartName, what: string, figures: string) => (
    <button
      type="button"
      class="copy"
      aria-label={`Save as PNG: ${what}`}
      onClick={() => void save(name, { title: `${title}: ${what}`, figures, name: `${title} ${what}` })}
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
        <div ref={places.rates} class="chart" data-chart="rates" />
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
          {charts.line.length > 0 && <Key look="estimate-line">estimate at each time</Key>}{' '}
          <Key look="band">every other funding period</Key>{' '}
          {hasAuctions && <Key look="auction">in auction</Key>}{' '}
          {hasGaps && <Key look="gap">blocks are missing</Key>}
        </span>
        {legend}
        {png('prices', 'prices and TWAPs', `Prices and TWAPs, ${unitText}`)}
      </div>
      <div ref={places.prices} class="chart" data-chart="prices" />
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
      <div ref={places.premium} class="chart" data-chart="premium" />
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
