import type { Coverage } from 'lyra-client'
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { readColours } from '../charts/chart-options.ts'
import { useGapShades } from '../charts/gap-times.ts'
import { createLineChart, DASHES, lineColour, TOTAL } from '../charts/line-chart.ts'
import { savePng } from '../charts/save-png.ts'
import { nanosecondsOf } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { marketLabel } from '../service/instruments.ts'
import { isDark } from '../theme.ts'
import { columnsOf, type Line, type Shown, suffixOf } from './compare-lines.ts'

const NO_GAPS: Coverage['blocks']['gaps'] = []

export type CompareChart = {
  /** The element in which the chart is drawn. */
  place: RefObject<HTMLDivElement | null>
  /** The time under the pointer; null without one. */
  at: bigint | null
  /** Saves the chart as a PNG file, with this name as its title; does nothing before it is drawn. */
  save(name: string): void
}

/** Draws the rates of several markets. Each new array of lines draws the chart anew: pass the same one while they are the same. */
export function useCompareChart(lines: readonly Line[], shown: Shown, hasSpread: boolean): CompareChart {
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const [at, setAt] = useState<bigint | null>(null)
  const dark = isDark()
  const gaps = useGapShades(latestCoverage()?.blocks.gaps ?? NO_GAPS)
  useEffect(() => {
    if (place.current === null || lines.length === 0) return
    const created = createLineChart(
      place.current,
      columnsOf(lines, shown),
      suffixOf(shown),
      (x) => setAt(x === null ? null : nanosecondsOf(x)),
      { shades: gaps, hasTotal: hasSpread },
    )
    chart.current = created.chart
    return () => {
      chart.current = null
      created.destroy()
    }
  }, [lines, shown, gaps, dark])

  const save = (name: string) => {
    if (chart.current === null || place.current === null) return
    const element = place.current
    const { paper, text } = readColours(element)
    const legend = lines.map(({ marketId }, index) => ({
      text: marketLabel(marketId),
      colour: lineColour(element, index),
      look: 'line' as const,
      width: 2,
      dash: DASHES[index]!,
    }))
    if (hasSpread) {
      const colour = lineColour(element, TOTAL)
      legend.push({ text: spreadNameOf(lines), colour, look: 'line', width: 3, dash: [] })
    }
    const title = `${name}: ${lines.map(({ marketId }) => marketLabel(marketId)).join(', ')}`
    const figures = `${name}, in${suffixOf(shown) || ' units of the settlement asset'}`
    void savePng(chart.current, { title, figures, legend, name: title, paper, ink: text })
  }
  return { place, at, save }
}

/** The name of the line of the difference of two markets. */
export function spreadNameOf(lines: readonly Line[]): string {
  return lines.map(({ marketId }) => marketLabel(marketId)).join(' − ')
}
