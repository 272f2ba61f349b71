import uPlot from 'uplot'
import { groupDigits } from '../figures/format-figure.ts'

/** The colours of the charts, as the style sheet has them. */
export type ChartColours = Record<
  'text' | 'grid' | 'external' | 'internal' | 'band' | 'difference' | 'fill',
  string
>

export function readColours(element: Element): ChartColours {
  const style = getComputedStyle(element)
  const of = (name: string) => style.getPropertyValue(`--chart-${name}`).trim()
  return {
    text: of('text'),
    grid: of('grid'),
    external: of('external'),
    internal: of('internal'),
    band: of('band'),
    difference: of('difference'),
    fill: of('fill'),
  }
}

/** Figures at the axis are shortened from here on. */
const LONGEST_IN_FULL = 1e12

const FONT = '12px system-ui, sans-serif'

/** How times stand at the axis, by the distance between them (seconds): text, and what a new day or year adds. */
const TIMES: uPlot.Axis.Values = [
  [3600 * 24 * 365, '{YYYY}', null, null, null, null, null, null, 1],
  [3600 * 24 * 28, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [3600 * 24, '{D} {MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [3600, '{HH}:{mm}', '\n{D} {MMM} {YYYY}', null, '\n{D} {MMM}', null, null, null, 1],
  [60, '{HH}:{mm}', '\n{D} {MMM} {YYYY}', null, '\n{D} {MMM}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{D} {MMM} {YYYY}', null, '\n{D} {MMM}', null, null, null, 1],
  [0.001, '{HH}:{mm}:{ss}.{fff}', '\n{D} {MMM} {YYYY}', null, '\n{D} {MMM}', null, null, null, 1],
]

/** The time axis, in UTC. */
export function timeAxis(colours: ChartColours, shown: boolean): uPlot.Axis {
  return {
    stroke: colours.text,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: shown, stroke: colours.grid, width: 1, size: 4 },
    font: FONT,
    values: shown ? TIMES : () => [],
    size: shown ? 42 : 6,
    space: 70,
  }
}

/** The axis of figures; narrow ones are shortened. */
export function figureAxis(colours: ChartColours, narrow: boolean): uPlot.Axis {
  const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 6 })
  return {
    stroke: colours.text,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
    font: FONT,
    size: narrow ? 66 : 118,
    space: 34,
    values: (_, ticks) => {
      const long = ticks.some((tick) => Math.abs(tick) >= LONGEST_IN_FULL)
      return ticks.map((tick) => (narrow || long ? short.format(tick) : groupDigits(String(tick))))
    },
  }
}

/** What both charts have in common; `zero` where zero is to be in the range of figures. */
export function commonOptions(width: number, height: number, zero: boolean): Omit<uPlot.Options, 'series'> {
  return {
    width,
    height,
    legend: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), 'Etc/UTC'),
    scales: { x: { time: true, auto: false }, y: zero ? { range: withZero } : {} },
    padding: [8, 12, 0, 0],
  }
}

export const steps = uPlot.paths.stepped!({ align: 1 })

/** A range of figures that zero is in. */
const withZero: uPlot.Range.Function = (_, min, max) =>
  uPlot.rangeNum(Math.min(0, min ?? 0), Math.max(0, max ?? 1), 0.08, true)
