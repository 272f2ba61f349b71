import type uPlot from 'uplot'
import { endOf, type Period } from '../periods/period.ts'
import { type Range, secondsOf } from '../series/series.ts'
import type { ChartColours } from './chart-options.ts'

/** Room that a period's number needs, in pixels of the style sheet; a label closer to the one before is left out. */
const LABEL_WIDTH = 40

/** More periods than this are not drawn as bands: they would be too narrow to see. */
export const MAX_BANDS = 120

/** A time of which something must be said: blocks are missing, or the market was in auction. */
export type Shade = Range & { kind: 'gap' | 'auction' }

type Box = { left: number; right: number }

/** Draws within the plot, and leaves the context as it was. */
export function inPlot(chart: uPlot, draw: (boxOf: (range: Range) => Box) => void): void {
  const { ctx, bbox } = chart
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  draw(({ from, to }) => ({
    left: Math.max(chart.valToPos(secondsOf(from), 'x', true), bbox.left),
    right: Math.min(chart.valToPos(secondsOf(to), 'x', true), bbox.left + bbox.width),
  }))
  ctx.restore()
}

/** Draws every other funding period as a band behind the lines; its number on top, where there is room. */
export function drawBands(
  chart: uPlot,
  periods: readonly Period[],
  shown: Range,
  colours: ChartColours,
  labels: boolean,
): void {
  let count = 0
  const bands = periods.flatMap((period, index) => {
    const to = endOf(periods, index, shown.to)
    // Those of no length are not seen, and do not change whose turn it is.
    if (to === period.start) return []
    const band = { seq: period.seq, from: period.start, to, filled: count++ % 2 === 1 }
    return to > shown.from && period.start < shown.to ? [band] : []
  })
  if (bands.length > MAX_BANDS) return
  inPlot(chart, (boxOf) => {
    const { ctx, bbox } = chart
    const ratio = devicePixelRatio
    ctx.font = `${11 * ratio}px system-ui, sans-serif`
    ctx.textBaseline = 'top'
    // The axes leave it at what their own labels need.
    ctx.textAlign = 'left'
    ctx.fillStyle = colours.band
    for (const { filled, ...range } of bands) {
      const { left, right } = boxOf(range)
      if (filled && right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height)
    }
    if (!labels) return
    ctx.fillStyle = colours.text
    let free = 0
    for (const { seq, ...range } of bands) {
      const { left, right } = boxOf(range)
      if (right <= left || left < free) continue
      ctx.fillText(`#${seq}`, left + 5 * ratio, bbox.top + 4 * ratio)
      free = left + LABEL_WIDTH * ratio
    }
  })
}

/** Shades times of which blocks are missing, or in which the market was in auction: different in pattern too. */
export function drawShades(chart: uPlot, shades: readonly Shade[], colours: ChartColours): void {
  inPlot(chart, (boxOf) => {
    const { ctx, bbox } = chart
    const ratio = devicePixelRatio
    for (const { kind, ...range } of shades) {
      const { left, right } = boxOf(range)
      if (right < left) continue
      const width = Math.max(right - left, 2 * ratio)
      ctx.fillStyle = colours[kind]
      ctx.fillRect(left, bbox.top, width, bbox.height)
      if (kind === 'auction') continue
      ctx.save()
      ctx.beginPath()
      ctx.rect(left, bbox.top, width, bbox.height)
      ctx.clip()
      ctx.strokeStyle = colours.gap
      ctx.lineWidth = ratio
      ctx.beginPath()
      for (let x = left - bbox.height; x < left + width; x += 8 * ratio) {
        ctx.moveTo(x, bbox.top + bbox.height)
        ctx.lineTo(x + bbox.height, bbox.top)
      }
      ctx.stroke()
      ctx.restore()
    }
  })
}

/** A bar of the chart of rates: from zero to a value, over the time of its period. */
export type Bar = Range & {
  value: number | null
  /** Whether it is what the running period would come to: outlined, not filled. */
  estimate: boolean
}

/** Draws bars; those too narrow to be seen are a pixel wide. */
export function drawBars(chart: uPlot, bars: readonly Bar[], colours: ChartColours): void {
  inPlot(chart, (boxOf) => {
    const { ctx } = chart
    const ratio = devicePixelRatio
    const zero = chart.valToPos(0, 'y', true)
    for (const { value, estimate, ...range } of bars) {
      if (value === null) continue
      const { left, right } = boxOf(range)
      if (right < left) continue
      const gap = right - left > 4 * ratio ? ratio : 0
      const width = Math.max(right - left - gap, ratio)
      const top = chart.valToPos(value, 'y', true)
      const height = Math.abs(top - zero) < ratio ? ratio : Math.abs(top - zero)
      const colour = value < 0 ? colours.shorts : colours.longs
      ctx.fillStyle = colour
      ctx.strokeStyle = colour
      if (!estimate) {
        ctx.fillRect(left, Math.min(top, zero), width, height)
        continue
      }
      ctx.globalAlpha = 0.25
      ctx.fillRect(left, Math.min(top, zero), width, height)
      ctx.globalAlpha = 1
      ctx.lineWidth = 1.5 * ratio
      ctx.setLineDash([4 * ratio, 3 * ratio])
      ctx.strokeRect(left, Math.min(top, zero), width, height)
      ctx.setLineDash([])
    }
  })
}
