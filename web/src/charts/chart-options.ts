import uPlot from 'uplot'

/** The colours of the charts, by their names in the style sheet. */
const NAMES = [
  'text',
  'grid',
  'paper',
  'external',
  'internal',
  'band',
  'difference',
  'fill',
  'longs',
  'shorts',
  'gap',
  'auction',
  'mark',
] as const

export type ChartColours = Record<(typeof NAMES)[number], string>

/** The colours as the style sheet has them for an element. */
export function readColours(element: Element): ChartColours {
  const style = getComputedStyle(element)
  return Object.fromEntries(
    NAMES.map((name) => [name, style.getPropertyValue(`--chart-${name}`).trim()]),
  ) as ChartColours
}

/** About how wide a digit at the axis is, pixels of the style sheet. */
const DIGIT_WIDTH = 7

/** Between figures at the axis and the plot. */
const AXIS_GAP = 10

export const FONT = '12px system-ui, sans-serif'

/** Formats of times on the axis, by their distance (seconds): text, and the addition for a new day or year. */
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
export function timeAxis(colours: ChartColours): uPlot.Axis {
  return {
    stroke: colours.text,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { stroke: colours.grid, width: 1, size: 4 },
    font: FONT,
    values: TIMES,
    size: 40,
    label: 'UTC',
    labelFont: FONT,
    labelSize: 16,
    labelGap: 0,
    space: 70,
  }
}

/** The axis of figures, with a width in pixels; all figures have the same suffix. Long ones are shortened. */
export function figureAxis(colours: ChartColours, size: number, suffix = ''): uPlot.Axis {
  const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 })
  // Positions on the screen; the exact figures are in the tables and above the charts.
  const long = new Intl.NumberFormat('en', { maximumSignificantDigits: 10 })
  return {
    stroke: colours.text,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
    font: FONT,
    size,
    space: 24,
    values: (_, ticks) => {
      // Adding 0 takes the sign off a zero.
      const texts = ticks.map((tick) => `${long.format(tick + 0)}${suffix}`)
      const fits = texts.every(({ length }) => length * DIGIT_WIDTH <= size - AXIS_GAP)
      return fits ? texts : ticks.map((tick) => `${short.format(tick + 0)}${suffix}`)
    },
  }
}

/** Options of all charts; `zero`: whether the range of figures includes zero, or a function that gives the range. */
export function commonOptions(
  width: number,
  height: number,
  zero: boolean | (() => [least: number, greatest: number]),
): Omit<uPlot.Options, 'series'> {
  const range: uPlot.Range.Function =
    typeof zero === 'function' ? (chart) => withZero(chart, ...zero(), 'y') : withZero
  return {
    width,
    height,
    legend: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), 'Etc/UTC'),
    scales: { x: { time: true, auto: false }, y: zero === false ? {} : { range } },
    padding: [8, 22, 0, 0],
  }
}

export const steps = uPlot.paths.stepped!({ align: 1 })

/** A range of figures that includes zero. */
const withZero: uPlot.Range.Function = (_, min, max) => {
  const [least, greatest] = [Math.min(0, min ?? 0), Math.max(0, max ?? 0)]
  return least === greatest ? [-1, 1] : uPlot.rangeNum(least, greatest, 0.08, true)
}
