import type uPlot from 'uplot'
import { endOf, type Period } from '../periods/period.ts'
import { type Range, secondsOf } from '../series/series.ts'
import type { Bar } from './bar.ts'
import type { ChartColours } from './chart-options.ts'

/** Room about a period's number, in pixels of the style sheet. */
const LABEL_MARGIN = 5

/** A time in auction that is drawn narrower than this, in pixels of the style sheet, is a mark in a strip. */
const NARROW_AUCTION = 3

/** Height of that strip, at the foot of the plot. */
const STRIP_HEIGHT = 7

/** More periods than this are not drawn as bands: they would be too narrow to see. */
export const MAX_BANDS = 120

/** A time to be marked: blocks are missing, or the market was in auction. */
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

/** A period within the plot; every other one is filled. */
type Band = Range & { seq: bigint; filled: boolean }

/** The visible periods, unless they are too many to distinguish. */
function bandsOf(periods: readonly Period[], shown: Range): Band[] {
  let count = 0
  const bands = periods.flatMap((period, index) => {
    const to = endOf(periods, index, shown.to)
    // Those of zero length are not drawn, and do not change the alternation.
    if (to === period.start) return []
    const band = { seq: period.seq, from: period.start, to, filled: count++ % 2 === 1 }
    return to > shown.from && period.start < shown.to ? [band] : []
  })
  return bands.length > MAX_BANDS ? [] : bands
}

/** Draws every other funding period as a band behind the lines. */
export function drawBands(
  chart: uPlot,
  periods: readonly Period[],
  shown: Range,
  colours: ChartColours,
): void {
  inPlot(chart, (boxOf) => {
    const { ctx, bbox } = chart
    ctx.fillStyle = colours.band
    for (const { filled, ...range } of bandsOf(periods, shown)) {
      const { left, right } = boxOf(range)
      if (filled && right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height)
    }
  })
}

/** Writes the numbers of funding periods above them, if there is room for the whole of one. */
export function drawNumbers(
  chart: uPlot,
  periods: readonly Period[],
  shown: Range,
  colours: ChartColours,
): void {
  inPlot(chart, (boxOf) => {
    const { ctx, bbox } = chart
    const ratio = devicePixelRatio
    ctx.font = `${11 * ratio}px system-ui, sans-serif`
    ctx.textBaseline = 'top'
    // The axes change it for their own labels.
    ctx.textAlign = 'left'
    ctx.fillStyle = colours.text
    let free = 0
    for (const { seq, ...range } of bandsOf(periods, shown)) {
      const { left, right } = boxOf(range)
      const text = `#${seq}`
      const at = left + LABEL_MARGIN * ratio
      const end = at + ctx.measureText(text).width
      if (right <= left || left < free || end > bbox.left + bbox.width) continue
      ctx.fillText(text, at, bbox.top + 4 * ratio)
      free = end + LABEL_MARGIN * ratio
    }
  })
}

/**
 * Shades times of which blocks are missing, or in which the market was in auction: different in pattern too. Auctions
 * too short to be seen are marks at the foot of the plot: at full height, many would look like one long auction.
 */
export function drawShades(chart: uPlot, shades: readonly Shade[], colours: ChartColours): void {
  inPlot(chart, (boxOf) => {
    const { ctx, bbox } = chart
    const ratio = devicePixelRatio
    for (const { kind, ...range } of shades) {
      const { left, right } = boxOf(range)
      if (right < left) continue
      const isMark = kind === 'auction' && right - left < NARROW_AUCTION * ratio
      const width = Math.max(right - left, (isMark ? 1 : 2) * ratio)
      const height = isMark ? STRIP_HEIGHT * ratio : bbox.height
      ctx.fillStyle = colours[isMark ? 'mark' : kind]
      ctx.fillRect(left, bbox.top + bbox.height - height, width, height)
      if (kind === 'auction') continue
      hatch(ctx, { left, top: bbox.top, width, height: bbox.height }, colours.gap, 8 * ratio)
    }
  })
}

export type Area = { left: number; top: number; width: number; height: number }

/** Draws lines from the lower left to the upper right over an area, so far apart. */
export function hatch(
  ctx: CanvasRenderingContext2D,
  { left, top, width, height }: Area,
  colour: string,
  distance: number,
): void {
  ctx.save()
  ctx.beginPath()
  ctx.rect(left, top, width, height)
  ctx.clip()
  ctx.strokeStyle = colour
  ctx.lineWidth = distance / 5
  ctx.beginPath()
  // The same lines wherever an area begins.
  for (let x = Math.floor((left - height) / distance) * distance; x < left + width; x += distance) {
    ctx.moveTo(x, top + height)
    ctx.lineTo(x + height, top)
  }
  ctx.stroke()
  ctx.restore()
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
        if (value < 0 && width > 3 * ratio) {
          hatch(ctx, { left, top: Math.min(top, zero), width, height }, colours.paper, 6 * ratio)
        }
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
