import type { Coverage } from 'lyra-client'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { DAY } from '../../../src/core/domain/time.ts'
import { readColours } from '../charts/chart-options.ts'
import { useGapShades } from '../charts/gap-times.ts'
import { createLineChart, DASHES, lineColour, TOTAL } from '../charts/line-chart.ts'
import { LineLegend } from '../charts/line-legend.tsx'
import { savePng } from '../charts/save-png.ts'
import { parseDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatMinute } from '../figures/format-time.ts'
import { storedRange } from '../funding/data/requests.ts'
import { readUnits } from '../funding/data/units.ts'
import { param, setParams } from '../location.ts'
import { MissingRows } from '../parts/missing-rows.tsx'
import { Segments } from '../parts/segments.tsx'
import { Answered, Failure, Skeleton } from '../parts/states.tsx'
import { RangeBar } from '../range/range-bar.tsx'
import { subjectOf, viewRange } from '../range/view-range.ts'
import { nanosecondsOf, type Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { marketLabel, marketUnit } from '../service/instruments.ts'
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
  describeSpread,
  type Line,
  MOST_PERIODS,
  type Shown,
  spreadOf,
  suffixOf,
  titleOf,
  USUAL_WORTH,
} from './compare-lines.ts'
import type { RateBasis } from './rates.ts'

const NO_LINES: readonly Line[] = []
const NO_GAPS: Coverage['blocks']['gaps'] = []

/** From when to when any of these markets has funding; the last day, if none has. */
function storedOf(marketIds: readonly string[], last: bigint): Range {
  const coverage = latestCoverage()
  const all = coverage === null ? [] : marketIds.flatMap((id) => storedRange(coverage, id) ?? [])
  return all.reduce(
    (one, { from, to }) => ({ from: from < one.from ? from : one.from, to: to > one.to ? to : one.to }),
    all[0] ?? { from: last - DAY, to: last },
  )
}

/** The symbol of the asset that all markets settle in; empty if they have several, or it is not known. */
function symbolOf(marketIds: readonly string[]): string {
  const symbols = new Set(marketIds.map((id) => marketUnit(id)?.symbol ?? ''))
  return symbols.size === 1 ? [...symbols][0]! : ''
}

/** What a position is worth, as it was typed: a number other than 0; null if it is none. */
function worthIn(typed: string): string | null {
  const read = readUnits(typed)
  return 'units' in read && read.units.length <= 20 ? read.units : null
}

/** Asks what the position is worth. */
function WorthField({ worth, symbol }: { worth: string; symbol: string }) {
  const [typed, setTyped] = useState(worth)
  return (
    <label class="field inline">
      <span class="field-label">Position worth</span>
      <input
        class="units"
        value={typed}
        title="What the position is worth at each payment, below zero for a short one"
        inputMode="decimal"
        spellcheck={false}
        autocomplete="off"
        aria-invalid={worthIn(typed) === null}
        onInput={({ currentTarget: { value } }) => setTyped(value)}
        onChange={({ currentTarget: { value } }) => {
          const read = worthIn(value)
          if (read !== null) setParams({ worth: read === USUAL_WORTH ? null : read })
        }}
      />
      {symbol !== '' && <span class="unit"> {symbol}</span>}
    </label>
  )
}

/** The funding rates of several markets in one chart, over the range that the address names. */
export function Compare({ marketIds, basis }: { marketIds: readonly string[]; basis: RateBasis }) {
  const coverage = latestCoverage()
  const version = marketIds
    .map((id) => coverage?.fundingPeriods.find(({ marketId }) => marketId === id)?.count ?? '')
    .join(' ')
  const last = BigInt(coverage?.blocks.lastTimestamp ?? 0)
  const stored = storedOf(marketIds, last)
  const range = viewRange({ from: param('from'), to: param('to'), span: param('span') }, stored, last, '30d')
  const named = param('bars') ?? ''
  const kind: CompareKind = Object.hasOwn(COMPARE_KINDS, named) ? (named as CompareKind) : 'money'
  const symbol = symbolOf(marketIds)
  const worthText = worthIn(param('worth') ?? '') ?? USUAL_WORTH
  const shown = useMemo(
    (): Shown => ({ kind, basis, worth: parseDecimal(worthText)!, symbol }),
    [kind, basis, worthText, symbol],
  )
  // A range that follows the data moves with every block, and has other payments only after one more period.
  const query = useQuery(
    `${marketIds.join(' ')} ${subjectOf(range)}`,
    (signal) => askLines(lyra, marketIds, range, stored, signal),
    { version },
  )
  const { data, error, reload } = query
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const [at, setAt] = useState<bigint | null>(null)
  const dark = isDark()
  const lines = data?.lines ?? NO_LINES
  const spread = useMemo(() => spreadOf(lines, shown), [lines, shown])
  const spreadName = `${lines.map(({ marketId }) => marketLabel(marketId)).join(' − ')}`
  const gaps = useGapShades(coverage?.blocks.gaps ?? NO_GAPS)
  useEffect(() => {
    if (place.current === null || lines.length === 0) return
    const made = createLineChart(
      place.current,
      columnsOf(lines, shown),
      suffixOf(shown),
      (x) => setAt(x === null ? null : nanosecondsOf(x)),
      { shades: gaps, hasTotal: spread !== null },
    )
    chart.current = made.chart
    return () => {
      chart.current = null
      made.destroy()
    }
  }, [lines, shown, gaps, dark])
  const name = titleOf(shown, data?.byDay ?? false)
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
          byDefault="money"
        />
        {kind === 'money' && <WorthField key={worthText} worth={worthText} symbol={symbol} />}
        <button
          type="button"
          class="copy"
          aria-label="Save as PNG: funding rates compared"
          onClick={() => {
            if (chart.current === null || place.current === null) return
            const { paper, text } = readColours(place.current)
            const title = `${name}: ${marketIds.map(marketLabel).join(', ')}`
            const colourOf = (index: number) => lineColour(place.current!, index)
            const legend = lines.map(({ marketId }, index) => ({
              text: marketLabel(marketId),
              colour: colourOf(index),
              look: 'line' as const,
              width: 2,
              dash: DASHES[index]!,
            }))
            if (spread !== null)
              legend.push({ text: spreadName, colour: colourOf(TOTAL), look: 'line', width: 3, dash: [] })
            const figures = `${name}, in${suffixOf(shown) || ' units of the settlement asset'}`
            void savePng(chart.current, { title, figures, legend, name: title, paper, ink: text })
          }}
        >
          PNG
        </button>
      </div>
      <RangeBar
        range={range}
        stored={stored}
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
            said: describeLine(due, shown, at, isWhole(missingOf('fundingPeriods', range))),
          }))}
          {...(spread !== null && {
            totalName: `Spread: ${spreadName}`,
            total: describeSpread(spread, shown, at),
          })}
        />
      </Answered>
    </section>
  )
}
