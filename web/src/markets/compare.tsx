import type { Coverage } from 'lyra-client'
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { readColours } from '../charts/chart-options.ts'
import { createLineChart, DASHES, lineColour } from '../charts/line-chart.ts'
import { LineLegend } from '../charts/line-legend.tsx'
import { savePng } from '../charts/save-png.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatMinute } from '../figures/format-time.ts'
import { useGapShades } from '../funding/gap-times.ts'
import { RangeBar } from '../funding/range-bar.tsx'
import { heldRange } from '../funding/requests.ts'
import { DAY, subjectOf, viewRange } from '../funding/view-range.ts'
import { param, setParams } from '../location.ts'
import { MissingRows } from '../parts/missing-rows.tsx'
import { Segments } from '../parts/segments.tsx'
import { Answered, Failure, Skeleton } from '../parts/states.tsx'
import { nanosecondsOf, type Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { marketLabel } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { isWhole, missingOf } from '../service/missing.ts'
import { useQuery } from '../service/use-query.ts'
import { isDark } from '../theme.ts'
import {
  askLines,
  COMPARE_KINDS,
  type CompareKind,
  columnsOf,
  describeLine,
  type Line,
  LONGEST,
  MOST_PERIODS,
  titleOf,
} from './compare-lines.ts'
import type { RateBasis } from './summary.ts'

const NO_LINES: readonly Line[] = []
const NO_GAPS: Coverage['blocks']['gaps'] = []

/** From when to when any of these markets has funding; the last day, if none has. */
function heldOf(marketIds: readonly string[], last: bigint): Range {
  const coverage = latestCoverage()
  const all = coverage === null ? [] : marketIds.flatMap((id) => heldRange(coverage, id) ?? [])
  return all.reduce(
    (one, { from, to }) => ({ from: from < one.from ? from : one.from, to: to > one.to ? to : one.to }),
    all[0] ?? { from: last - DAY, to: last },
  )
}

/** The funding rates of several markets in one chart, over the range that the address names. */
export function Compare({ marketIds, basis }: { marketIds: readonly string[]; basis: RateBasis }) {
  const coverage = latestCoverage()
  const version = marketIds
    .map((id) => coverage?.fundingPeriods.find(({ marketId }) => marketId === id)?.count ?? '')
    .join(' ')
  const last = BigInt(coverage?.blocks.lastTimestamp ?? 0)
  const held = heldOf(marketIds, last)
  const range = viewRange({ from: param('from'), to: param('to'), span: param('span') }, held, last, '30d')
  // Hundreds of rates as steps cover one another; their sums can be told apart.
  const usual: CompareKind = range.to - range.from > LONGEST ? 'cumulative' : 'rate'
  const named = param('bars') ?? ''
  const kind: CompareKind = Object.hasOwn(COMPARE_KINDS, named) ? (named as CompareKind) : usual
  // A range that follows the data moves with every block, and has other payments only after one more period.
  const query = useQuery(
    `${marketIds.join(' ')} ${subjectOf(range)}`,
    (signal) => askLines(lyra, marketIds, range, held, signal),
    { version },
  )
  const { data, error, reload } = query
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const [at, setAt] = useState<bigint | null>(null)
  const dark = isDark()
  const lines = data?.lines ?? NO_LINES
  const gaps = useGapShades(coverage?.blocks.gaps ?? NO_GAPS)
  useEffect(() => {
    if (place.current === null || lines.length === 0) return
    const made = createLineChart(
      place.current,
      columnsOf(lines, kind, basis),
      ' %',
      (x) => setAt(x === null ? null : nanosecondsOf(x)),
      { shades: gaps },
    )
    chart.current = made.chart
    return () => {
      chart.current = null
      made.destroy()
    }
  }, [lines, kind, basis, gaps, dark])
  const name = titleOf(kind, basis, data?.byDay ?? false)
  return (
    <section class="panel" aria-labelledby="compare-title">
      <div class="chart-head">
        <h2 id="compare-title" class="chart-title">
          {name}
        </h2>
        <Segments
          label="Values of the lines"
          name="bars"
          choices={COMPARE_KINDS}
          chosen={kind}
          byDefault={usual}
        />
        <button
          type="button"
          class="copy"
          aria-label="Save as PNG: funding rates compared"
          onClick={() => {
            if (chart.current === null || place.current === null) return
            const { paper, text } = readColours(place.current)
            const title = `${name}: ${marketIds.map(marketLabel).join(', ')}`
            const legend = lines.map(({ marketId }, index) => ({
              text: marketLabel(marketId),
              colour: lineColour(place.current!, index),
              look: 'line' as const,
              width: 2,
              dash: DASHES[index]!,
            }))
            const figures = `${name}, in %`
            void savePng(chart.current, { title, figures, legend, name: title, paper, ink: text })
          }}
        >
          PNG
        </button>
      </div>
      <RangeBar
        range={range}
        held={held}
        last={last}
        least={DAY}
        onSpan={(span) => setParams({ span, from: null, to: null })}
        onRange={({ from, to }) => setParams({ from: `${from}`, to: `${to}`, span: null })}
      />
      {data === null && error !== null && <Failure error={error} onRetry={reload} />}
      <MissingRows resource="fundingPeriods" range={range} />
      <Answered query={query}>
        <div class="compare-chart">
          {data === null && error === null && <Skeleton what="funding periods" tall />}
          <div ref={place} class="chart" data-chart="compare" />
        </div>
        {lines.map(
          ({ marketId, from }) =>
            from !== null && (
              <p key={marketId} class="notice">
                {marketLabel(marketId)} is drawn from {formatMinute(from)} UTC on: more than{' '}
                {groupDigits(`${MOST_PERIODS}`)} of its periods are not loaded. Choose a shorter range.
              </p>
            ),
        )}
        <p class="gestures by-mouse">Hover for values · drag to zoom in · double-click to reset</p>
        <LineLegend
          label="Markets compared"
          markets={lines.map(({ marketId, due }) => ({
            marketId,
            link: { view: 'funding', params: { market: marketId } },
            said: describeLine(due, kind, basis, at, isWhole(missingOf('fundingPeriods', range))),
          }))}
        />
      </Answered>
    </section>
  )
}
