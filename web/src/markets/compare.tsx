import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { readColours } from '../charts/chart-options.ts'
import { createLineChart, DASHES, lineColour } from '../charts/line-chart.ts'
import { savePng } from '../charts/save-png.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatTime } from '../figures/format-time.ts'
import { param, setParams } from '../location.ts'
import { MarketName } from '../parts/market-name.tsx'
import { Failure, Skeleton } from '../parts/states.tsx'
import { askPeriods } from '../periods/period.ts'
import { nanosecondsOf } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { marketLabel } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { useQuery } from '../service/use-query.ts'
import { isDark } from '../theme.ts'
import {
  COMPARE_KINDS,
  type CompareKind,
  columnsOf,
  describeLine,
  fromOneStart,
  type Line,
} from './compare-lines.ts'

/** Periods of each market that are compared at most. */
const PERIODS = 1_000

const NO_LINES: readonly Line[] = []

/** The funding rates of several markets in one chart. */
export function Compare({ marketIds }: { marketIds: readonly string[] }) {
  const coverage = latestCoverage()
  const version = marketIds
    .map((id) => coverage?.fundingPeriods.find(({ marketId }) => marketId === id)?.count ?? '')
    .join(' ')
  const kind: CompareKind = Object.hasOwn(COMPARE_KINDS, param('bars') ?? '')
    ? (param('bars') as CompareKind)
    : 'annualised'
  const { data, error, reload } = useQuery(
    `${marketIds.join(' ')} ${version}`,
    async (signal) =>
      fromOneStart(
        await Promise.all(
          marketIds.map(async (marketId) => ({
            marketId,
            ...(await askPeriods(lyra, { marketId }, PERIODS, signal)),
          })),
        ),
      ),
    { keep: true },
  )
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const [at, setAt] = useState<bigint | null>(null)
  const dark = isDark()
  const lines = data?.lines ?? NO_LINES
  useEffect(() => {
    if (place.current === null || lines.length === 0) return
    const made = createLineChart(place.current, columnsOf(lines, kind), ' %', (x) =>
      setAt(x === null ? null : nanosecondsOf(x)),
    )
    chart.current = made.chart
    return () => {
      chart.current = null
      made.destroy()
    }
  }, [lines, kind, dark])
  return (
    <section class="panel" aria-labelledby="compare-title">
      <div class="chart-head">
        <h2 id="compare-title" class="chart-title">
          Funding rates compared
        </h2>
        <fieldset class="segments small" aria-label="Values of the lines">
          {Object.entries(COMPARE_KINDS).map(([name, text]) => (
            <button
              key={name}
              type="button"
              aria-pressed={kind === name}
              onClick={() => setParams({ bars: name === 'annualised' ? null : name }, { push: false })}
            >
              {text}
            </button>
          ))}
        </fieldset>
        <button
          type="button"
          class="copy"
          aria-label="Save as PNG: funding rates compared"
          onClick={() => {
            if (chart.current === null || place.current === null) return
            const { paper, text } = readColours(place.current)
            const title = `Funding rates, ${COMPARE_KINDS[kind].toLowerCase()}: ${marketIds.map(marketLabel).join(', ')}`
            const legend = lines.map(({ marketId }, index) => ({
              text: marketLabel(marketId),
              colour: lineColour(place.current!, index),
              look: 'line' as const,
              width: 2,
              dash: DASHES[index]!,
            }))
            const figures = `${COMPARE_KINDS[kind]}, in %`
            void savePng(chart.current, { title, figures, legend, name: title, paper, ink: text })
          }}
        >
          PNG
        </button>
      </div>
      {error !== null && <Failure error={error} onRetry={reload} />}
      <div class="compare-chart">
        {data === null && error === null && <Skeleton what="funding periods" tall />}
        <div ref={place} class="chart" data-chart="compare" />
      </div>
      {data?.from != null && (
        <p class="notice">
          Compared from {formatTime(data.from).slice(0, 16)} UTC on: more than {groupDigits(`${PERIODS}`)}{' '}
          periods of a market are not loaded.
        </p>
      )}
      <p class="gestures by-mouse">Hover for values · drag to zoom in · double-click to reset</p>
      <ul class="compare-legend" aria-label="Markets compared">
        {lines.map(({ marketId, periods }, index) => (
          <li key={marketId} data-compared={marketId}>
            <svg viewBox="0 0 24 4" width="24" height="4" aria-hidden="true">
              <path class={`line-${index}`} d="M0 2H24" stroke-dasharray={DASHES[index]!.join(' ')} />
            </svg>
            <MarketName marketId={marketId} link={{ view: 'funding', params: { market: marketId } }} />
            <span class="quiet">{describeLine(periods, kind, at)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
