import { useMemo } from 'preact/hooks'
import { DAY } from '../../../src/core/domain/time.ts'
import { LineLegend } from '../charts/line-legend.tsx'
import { parseDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatMinute } from '../figures/format-time.ts'
import { storedRange } from '../funding/data/requests.ts'
import { param, setParams } from '../location.ts'
import { Segments } from '../parts/pickers/segments.tsx'
import { MissingRows } from '../parts/states/missing-rows.tsx'
import { Answered, Failure, Skeleton } from '../parts/states/states.tsx'
import { RangeBar } from '../range/range-bar.tsx'
import { subjectOf, viewRange } from '../range/view-range.ts'
import type { Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { marketLabel, marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { isWhole, missingOf } from '../service/missing.ts'
import { useQuery } from '../service/use-query.ts'
import {
  askLines,
  COMPARE_KINDS,
  type CompareKind,
  describeLine,
  describeSpread,
  type Line,
  MOST_PERIODS,
  type Shown,
  spreadOf,
  titleOf,
  USUAL_WORTH,
} from './compare-lines.ts'
import type { RateBasis } from './rates.ts'
import { spreadNameOf, useCompareChart } from './use-compare-chart.ts'
import { WorthField, worthIn } from './worth-field.tsx'

const NO_LINES: readonly Line[] = []

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
  const lines = data?.lines ?? NO_LINES
  const spread = useMemo(() => spreadOf(lines, shown), [lines, shown])
  const { place, at, save } = useCompareChart(lines, shown, spread !== null)
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
          onClick={() => save(name)}
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
            totalName: `Spread: ${spreadNameOf(lines)}`,
            total: describeSpread(spread, shown, at),
          })}
        />
      </Answered>
    </section>
  )
}
