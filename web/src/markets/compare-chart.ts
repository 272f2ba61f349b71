import uPlot from 'uplot'
import { commonOptions, figureAxis, readColours, steps, timeAxis } from '../charts/chart-options.ts'
import { approximate } from '../figures/decimal.ts'
import type { Period } from '../periods/period.ts'
import { secondsOf } from '../series/series.ts'
import { type CompareKind, valuesOf } from './compare-lines.ts'

/** What distinguishes the lines without colours. */
export const DASHES: readonly (readonly number[])[] = [[], [8, 3], [2, 3], [12, 3, 2, 3], [5, 5], [1, 5]]

const HEIGHT = 300

/** The colour of a market's line, as the style sheet has it. */
export function lineColour(place: HTMLElement, index: number): string {
  return getComputedStyle(place).getPropertyValue(`--line-${index}`).trim()
}

/** Draws the rates of markets as steps, each from the start to the end of its period. */
export function createCompareChart(
  place: HTMLElement,
  lines: readonly { marketId: string; periods: readonly Period[] }[],
  kind: CompareKind,
  onHover: (x: number | null) => void,
): { chart: uPlot; destroy(): void } {
  const colours = readColours(place)
  const chart = new uPlot(
    {
      ...commonOptions(place.clientWidth, HEIGHT, true),
      scales: { x: { time: true }, y: commonOptions(0, 0, true).scales!.y! },
      cursor: { drag: { x: true, y: false } },
      axes: [timeAxis(colours), figureAxis(colours, place.clientWidth < 640 ? 62 : 84, ' %')],
      series: [
        {},
        ...lines.map(
          (_, index): uPlot.Series => ({
            stroke: lineColour(place, index),
            dash: [...DASHES[index]!],
            width: 1.75,
            paths: steps,
            spanGaps: false,
            points: { show: false },
          }),
        ),
      ],
      hooks: {
        setCursor: [
          ({ cursor, posToVal }) => {
            const { left } = cursor
            onHover(left != null && left >= 0 ? posToVal(left, 'x') : null)
          },
        ],
      },
    },
    columnsOf(lines, kind),
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

/** One place for each start and end of a period of any market; a line is broken if its market has no period. */
function columnsOf(lines: readonly { periods: readonly Period[] }[], kind: CompareKind): uPlot.AlignedData {
  const times = [
    ...new Set(lines.flatMap(({ periods }) => periods.flatMap(({ start, end }) => [start, end!]))),
  ].sort((left, right) => (left < right ? -1 : 1))
  const places = new Map(times.map((time, index) => [time, index]))
  const columns = lines.map(({ periods }) => {
    const values = valuesOf(periods, kind)
    const column: (number | null | undefined)[] = times.map(() => undefined)
    for (const [index, { start, end }] of periods.entries()) {
      const value = values[index] ?? null
      const drawn = value === null ? null : approximate(value) * 100
      column[places.get(start)!] = drawn
      const after = periods[index + 1]
      if (after === undefined) column[places.get(end!)!] = drawn
      else if (after.start !== end) column[places.get(end!)!] = null
    }
    return column
  })
  return [times.map(secondsOf), ...columns] as uPlot.AlignedData
}
