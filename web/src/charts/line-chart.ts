import uPlot from 'uplot'
import { commonOptions, figureAxis, readColours, steps, timeAxis } from './chart-options.ts'
import { crosshair } from './crosshair.ts'
import { drawShades, type Shade } from './draw.ts'

/** Dash patterns, which distinguish the lines without colours. */
export const DASHES: readonly (readonly number[])[] = [[], [8, 3], [2, 3], [12, 3, 2, 3], [5, 5], [1, 5]]

/** The place of the total among the colours. */
export const TOTAL = 6

const HEIGHT = 300

/** The colour of a line, as the style sheet has it. */
export function lineColour(place: HTMLElement, index: number): string {
  return getComputedStyle(place).getPropertyValue(`--line-${index}`).trim()
}

export type LineChartOptions = {
  /** Whether the last column is the sum of all, or their spread, which is drawn as a thick line. */
  hasTotal?: boolean
  /** Times that are shaded behind the lines. */
  shades?: readonly Shade[]
}

/**
 * Draws lines as steps, each value up to the next one.
 *
 * @param data times in seconds, and a column for each line
 * @param suffix text after the figures at the axis
 */
export function createLineChart(
  place: HTMLElement,
  data: uPlot.AlignedData,
  suffix: string,
  onHover: (x: number | null) => void,
  { hasTotal = false, shades = [] }: LineChartOptions = {},
): { chart: uPlot; destroy(): void } {
  const colours = readColours(place)
  const chart = new uPlot(
    {
      ...commonOptions(place.clientWidth, HEIGHT, true),
      scales: { x: { time: true }, y: commonOptions(0, 0, true).scales!.y! },
      cursor: { drag: { x: true, y: false } },
      plugins: [crosshair(suffix, () => [])],
      axes: [timeAxis(colours), figureAxis(colours, place.clientWidth < 640 ? 62 : 84, suffix)],
      series: [
        {},
        ...data.slice(1).map((_, index): uPlot.Series => {
          const isTotal = hasTotal && index === data.length - 2
          return {
            stroke: lineColour(place, isTotal ? TOTAL : index),
            dash: isTotal ? [] : [...DASHES[index]!],
            width: isTotal ? 3 : 1.75,
            paths: steps,
            spanGaps: false,
            points: { show: false },
          }
        }),
      ],
      hooks: {
        drawClear: [(drawn) => drawShades(drawn, shades, colours)],
        setCursor: [
          ({ cursor, posToVal }) => {
            const { left } = cursor
            onHover(left != null && left >= 0 ? posToVal(left, 'x') : null)
          },
        ],
      },
    },
    data,
    place,
  )
  const resized = new ResizeObserver(() => {
    if (place.clientWidth > 0 && place.clientWidth !== chart.width) {
      chart.setSize({ width: place.clientWidth, height: HEIGHT })
    }
  })
  resized.observe(place)
  return {
    chart,
    destroy: () => {
      resized.disconnect()
      chart.destroy()
    },
  }
}
