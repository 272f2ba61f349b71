import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import type { Shade } from '../charts/draw.ts'
import { createLineChart } from '../charts/line-chart.ts'
import { LineLegend } from '../charts/line-legend.tsx'
import type { Unit } from '../figures/amount.ts'
import { approximate, type Decimal, writeDecimal } from '../figures/decimal.ts'
import { formatMinute } from '../figures/format-time.ts'
import { Amount } from '../parts/values/amount.tsx'
import type { MarketSteps, Steps } from '../payments/payments.ts'
import { nanosecondsOf, secondsOf } from '../series/series.ts'
import { isDark } from '../theme.ts'

export type CumulativeChartProps = {
  /** At most as many as there are kinds of lines; all of one asset. */
  lines: readonly MarketSteps[]
  /** The sum of these markets and of those that are not drawn; null for a single one. */
  total: Steps | null
  unit: Unit | null
  /** Times of which blocks are missing; the same list while they are the same. */
  shades: readonly Shade[]
}

/** A party's receipts minus its payments, cumulated over a range: a line for each market of an asset, and one for their total. */
export function CumulativeChart({ lines, total, unit, shades }: CumulativeChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState<bigint | null>(null)
  const dark = isDark()
  useEffect(() => {
    if (place.current === null) return
    const { destroy } = createLineChart(
      place.current,
      columnsOf(total === null ? lines : [...lines, total], unit),
      '',
      (x) => setAt(x === null ? null : nanosecondsOf(x)),
      { hasTotal: total !== null, shades },
    )
    return destroy
  }, [lines, total, shades, unit?.decimals, dark])
  const saidOf = ({ times, totals }: Steps) => {
    const last = at === null ? times.length - 1 : times.findLastIndex((time) => time <= at)
    return last === -1 ? (
      'no payment yet'
    ) : (
      <>
        <Amount text={writeDecimal(totals[last]!)} unit={unit} places={2} signed /> ·{' '}
        {formatMinute(times[last]!)}
      </>
    )
  }
  return (
    <>
      <div class="compare-chart">
        <div ref={place} class="chart" data-chart="cumulative" />
      </div>
      <LineLegend
        label="Markets in the chart"
        markets={lines.map(({ marketId, ...steps }) => ({ marketId, said: saidOf(steps) }))}
        total={total === null ? null : saidOf(total)}
      />
    </>
  )
}

/** One place for each payment of any market; a line keeps its value up to the next one. */
function columnsOf(lines: readonly Steps[], unit: Unit | null): uPlot.AlignedData {
  const times = [...new Set(lines.flatMap((line) => line.times))].sort((a, b) => (a < b ? -1 : 1))
  const columns = lines.map((line) => {
    const values = new Map(line.times.map((time, index) => [time, line.totals[index]!]))
    let value: number | null = null
    return times.map((time) => {
      const total = values.get(time)
      if (total !== undefined) value = inWhole(total, unit)
      return value
    })
  })
  return [times.map(secondsOf), ...columns] as uPlot.AlignedData
}

const inWhole = ({ digits, scale }: Decimal, unit: Unit | null): number =>
  approximate({ digits, scale: scale + (unit?.decimals ?? 0) })
