import type { MarketSummary } from 'lyra-client'
import { useState } from 'preact/hooks'
import { reportTarget } from '../../../../client/src/requests.ts'
import { pricePlaces, whyNoUnit } from '../../figures/amount.ts'
import { formatMinute } from '../../figures/format-time.ts'
import { useNarrow } from '../../parts/narrow.ts'
import { Segments } from '../../parts/pickers/segments.tsx'
import { Request } from '../../parts/request.tsx'
import { Answered, Failure, Skeleton } from '../../parts/states/states.tsx'
import type { Range } from '../../series/series.ts'
import { latestCoverage } from '../../service/coverage.ts'
import { instrumentOf, instruments, marketLabel, marketUnit } from '../../service/instruments.ts'
import type { Query } from '../../service/use-query.ts'
import { BAR_KINDS, titleOf } from '../data/reading.ts'
import { hideLines, type Shown, showEstimates, showRange, showSpan } from '../data/shown.ts'
import type { Funding } from '../data/use-funding.ts'
import { MarkPrice } from '../mark-price.tsx'
import { RangeFigures } from '../now/now-section.tsx'
import { isWithin, lastIn } from './chart-columns.ts'
import { ChartNotes } from './chart-notes.tsx'
import { ChartPanel } from './chart-panel.tsx'
import { Legend } from './legend.tsx'
import { Nearest } from './nearest.tsx'
import { Readout } from './readout.tsx'
import { type Chart, useChart } from './use-chart.ts'

export type ChartSectionProps = {
  marketId: string
  /** From the market's first point or period to its last. */
  stored: Range
  funding: Funding
  shown: Shown
  summary: Query<MarketSummary | null>
}

/** The charts of a range, the figures of the time under the pointer, and what the charts omit. */
export function ChartSection({ marketId, stored, funding, shown, summary }: ChartSectionProps) {
  const { series, days, byDay } = funding
  const { range, kind, hidden } = shown
  const [pointed, setPointed] = useState<bigint | null>(null)
  const chart = useChart(marketId, funding, shown)
  const { data } = chart
  const last = BigInt(latestCoverage()!.blocks.lastTimestamp)
  const unit = marketUnit(marketId)
  const narrow = useNarrow()
  // On a phone they are below the first chart, which then begins in the upper half.
  const figures = narrow && (
    <div class="now-figures">
      <RangeFigures marketId={marketId} funding={funding} range={range} summary={summary} />
      <MarkPrice query={summary} />
    </div>
  )
  const isEmpty =
    data !== null && !series.loading && !data.moments.some((moment) => isWithin(moment, data, range))
  // Without a pointer, nothing is read from before the range.
  const readAt = pointed ?? (data === null || isEmpty ? null : lastIn(data, range))
  const reading = readAt === null ? null : chart.readingAt(readAt)
  const hasFailed = data === null && series.error !== null
  const end = range.to < last ? range.to : last
  return (
    <section class="panel chart-panel" aria-label="Charts" aria-busy={chart.state.loading}>
      {hasFailed && <Failure error={series.error!} onRetry={series.reload} />}
      {isEmpty && (
        <Nearest
          key={`${range.from} ${range.to}`}
          marketId={marketId}
          range={range}
          stored={stored}
          onRange={showRange}
          onAll={() => showSpan('all')}
        />
      )}
      <Answered query={chart.state} class={data === null ? 'chart-place waiting' : 'chart-place'}>
        {data === null && !hasFailed && <Skeleton what="charts" tall />}
        <ChartPanel
          data={data}
          bars={chart.bars}
          line={chart.line}
          barsText={`${BAR_KINDS[kind]}${byDay ? ', by day' : ''}, in %`}
          range={range}
          hidden={hidden}
          unit={unit}
          title={`${marketLabel(marketId)}, ${formatMinute(range.from)} to ${formatMinute(end)} UTC`}
          onRange={showRange}
          onPoint={setPointed}
          head={<BarsHead title={titleOf(kind, byDay)} shown={shown} chart={chart} />}
          tip={chart.tipAt}
          figures={data !== null && figures}
          legend={<Legend hidden={hidden} onChange={hideLines} />}
          readout={
            <Readout
              reading={reading}
              bars={chart.values}
              days={chart.days}
              cumulative={reading === null ? null : chart.cumulativeAt(reading.time)}
              pointed={pointed !== null}
              unit={unit}
              {...(unit !== null && { places: pricePlaces(instrumentOf(marketId)) })}
              interval={series.data?.interval ?? ''}
            />
          }
        />
      </Answered>
      {hasFailed && figures}
      {chart.hasEstimates && <EstimateNotes estimates={chart.estimates} />}
      {data !== null && (
        <ChartNotes
          data={data}
          range={range}
          why={instruments.value === null ? null : whyNoUnit(instrumentOf(marketId))}
          byDay={byDay}
        />
      )}
      <SeriesRequest marketId={marketId} range={range} />
      {days.data === null && days.error !== null && <Failure error={days.error} onRetry={days.reload} />}
    </section>
  )
}

/** The title of the chart of rates, with what its bars and its line may be. */
function BarsHead({ title, shown, chart }: { title: string; shown: Shown; chart: Chart }) {
  return (
    <>
      <h2 class="chart-title">{title}</h2>
      <Segments
        label="Values of the bars"
        name="bars"
        choices={BAR_KINDS}
        chosen={shown.kind}
        byDefault="rate"
      />
      {chart.mayHaveEstimates && (
        <button
          type="button"
          class="small-toggle"
          aria-pressed={chart.hasEstimates}
          title="What each period would have paid, as estimated at each time before its end"
          onClick={() => showEstimates(!chart.hasEstimates)}
        >
          Estimates
        </button>
      )}
    </>
  )
}

/** Why estimates are not drawn. */
function EstimateNotes({ estimates }: Pick<Chart, 'estimates'>) {
  return (
    <>
      {estimates.error !== null && <Failure error={estimates.error} onRetry={estimates.reload} />}
      {estimates.data?.isCut && (
        <p class="notes">The range has too many estimates to draw them at each time: choose a shorter one.</p>
      )}
    </>
  )
}

/** The request of the points that are drawn. */
function SeriesRequest({ marketId, range: { from, to } }: { marketId: string; range: Range }) {
  const url = `${location.origin}${reportTarget('series', marketId, { from, to, buckets: 500 })}`
  return <Request url={url} csv={`${url}&format=csv`} marketId={marketId} />
}
