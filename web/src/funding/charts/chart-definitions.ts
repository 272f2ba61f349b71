import type uPlot from 'uplot'
import type { Bar } from '../../charts/bar.ts'
import { type ChartColours, figureAxis, steps, timeAxis } from '../../charts/chart-options.ts'
import type { Range } from '../../series/series.ts'
import type { EstimateLine } from './chart-columns.ts'
import { LINE_STYLES, type Line } from './price-lines.ts'

/** What distinguishes a chart from the others: its lines, its axes, and the figures that its axis must include. */
export type ChartDefinition = Pick<uPlot.Options, 'series' | 'axes' | 'bands'> & {
  /** Whether zero is on the axis; or a function that gives the range of the figures. */
  zero: boolean | (() => Limits)
  /** The unit of its figures, with a space before it. */
  suffix: string
}

type Limits = [least: number, greatest: number]

/** The series of each line in the chart of prices: with the least and the greatest price of a bucket. */
export const SERIES_OF_LINE: Record<Line, readonly number[]> = {
  'external-price': [1, 2, 3],
  'external-twap': [4],
  'internal-price': [5, 6, 7],
  'internal-twap': [8],
}

/**
 * Bars, which are drawn by hand, and the line of estimates over them.
 *
 * @param axisSize pixels of the style sheet
 * @param limits the range of the figures that are shown
 */
export function ratesChart(colours: ChartColours, axisSize: number, limits: () => Limits): ChartDefinition {
  return {
    zero: limits,
    suffix: ' %',
    axes: [timeAxis(colours), figureAxis(colours, axisSize, ' %')],
    series: [
      {},
      { paths: () => null, points: { show: false } },
      // The line of estimates has an edge, so that it is seen on bars.
      { stroke: colours.paper, width: 4, points: { show: false } },
      { stroke: colours.text, width: 1.5, points: { show: false } },
    ],
  }
}

/** The range of the rates within a range of times, with zero. */
export function limitsOfRates(bars: readonly Bar[], line: EstimateLine, range: Range): Limits {
  // A bar wider than the range has its middle outside, but must be drawn.
  const shownBars = bars.filter(({ from, to }) => from < range.to && to > range.from)
  const shownLine = line.filter(({ time }) => time >= range.from && time < range.to)
  let [least, greatest] = [0, 0]
  for (const { value } of [...shownBars, ...shownLine]) {
    least = Math.min(least, value ?? 0)
    greatest = Math.max(greatest, value ?? 0)
  }
  return [least, greatest]
}

/** Prices and TWAPs of both sources. */
export function pricesChart(colours: ChartColours, axisSize: number): ChartDefinition {
  return {
    zero: false,
    suffix: '',
    axes: [timeAxis(colours), figureAxis(colours, axisSize)],
    series: [{}, ...priceSeries(colours)],
    bands: [
      { series: [2, 1], fill: `${colours.external}33` },
      { series: [6, 5], fill: `${colours.internal}33` },
    ],
  }
}

/** Thin steps of prices, each of which lasts until the next one; a band from the least to the greatest of a bucket; thick lines of TWAPs. */
function priceSeries(colours: ChartColours): uPlot.Series[] {
  const common = { points: { show: false } } as const
  const bound: uPlot.Series = { ...common, stroke: 'transparent', width: 0, paths: steps }
  return (['external', 'internal'] as const).flatMap((source) => [
    { ...bound },
    { ...bound },
    {
      ...common,
      stroke: colours[source],
      alpha: 0.75,
      paths: steps,
      ...LINE_STYLES[`${source}-price`],
    },
    { ...common, stroke: colours[source], ...LINE_STYLES[`${source}-twap`] },
  ])
}

/** The premium of the internal TWAP, as an area from zero. */
export function premiumChart(colours: ChartColours, axisSize: number): ChartDefinition {
  return {
    zero: true,
    suffix: ' %',
    axes: [timeAxis(colours), figureAxis(colours, axisSize, ' %')],
    series: [
      {},
      { stroke: colours.difference, width: 1.5, fill: colours.fill, fillTo: 0, points: { show: false } },
    ],
  }
}
