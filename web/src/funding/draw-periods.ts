import type uPlot from 'uplot'
import type { ChartColours } from './chart-options.ts'
import type { Period } from './periods.ts'
import { secondsOf } from './point.ts'

/** Room that a period's number needs, in pixels of the style sheet. */
const LABEL_WIDTH = 34

/** Draws every other funding period as a band behind the lines; its number on top, where there is room. */
export function drawPeriods(
  chart: uPlot,
  periods: readonly Period[],
  colours: ChartColours,
  labels: boolean,
): void {
  const { ctx, bbox } = chart
  const ratio = devicePixelRatio
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  ctx.font = `${11 * ratio}px system-ui, sans-serif`
  ctx.textBaseline = 'top'
  const bands = periods.map(({ seq, from, to }) => {
    const left = Math.max(chart.valToPos(secondsOf(from), 'x', true), bbox.left)
    const right = Math.min(chart.valToPos(secondsOf(to), 'x', true), bbox.left + bbox.width)
    return { seq, left, width: right - left }
  })
  ctx.fillStyle = colours.band
  for (const { seq, left, width } of bands) {
    if (seq % 2n === 1n && width > 0) ctx.fillRect(left, bbox.top, width, bbox.height)
  }
  ctx.fillStyle = colours.text
  for (const { seq, left, width } of bands) {
    if (labels && width > LABEL_WIDTH * ratio) ctx.fillText(`#${seq}`, left + 5 * ratio, bbox.top + 4 * ratio)
  }
  ctx.restore()
}
