import type uPlot from 'uplot'
import { printable } from '../../../src/core/domain/printable.ts'
import { formatMinute } from '../figures/format-time.ts'
import { latestCoverage } from '../service/coverage.ts'
import { FONT } from './chart-options.ts'
import { hatch } from './draw.ts'

/** Meaning of a colour, line or pattern in a chart. */
export type LegendItem = {
  text: string
  colour: string
  look: 'line' | 'box' | 'hatched' | 'outlined'
  /** Of a line: pixels of the style sheet. */
  width?: number
  dash?: readonly number[]
}

export type Picture = {
  title: string
  /** The values shown and their unit: `Cumulative, in %`. */
  figures: string
  legend: readonly LegendItem[]
  /** The file's name, without its end. */
  name: string
  paper: string
  ink: string
}

/** Pixels of the style sheet. */
const MARGIN = 12
const TITLE_HEIGHT = 30
const LINE_HEIGHT = 22
const SAMPLE_WIDTH = 20

/** The network of the figures, and the time at which the picture is saved. */
function sourceOf(): string {
  const chain = printable(latestCoverage()?.chainId ?? '')
  return `${chain}, saved ${formatMinute(BigInt(Date.now()) * 1_000_000n)} UTC`
}

/** Saves a chart as it is on the screen, with its title, its unit and its legend, as a PNG file. */
export async function savePng(
  chart: uPlot,
  { title, figures, legend, name, paper, ink }: Picture,
): Promise<void> {
  const source = chart.ctx.canvas
  const ratio = devicePixelRatio
  const canvas = document.createElement('canvas')
  const context = canvas.getContext('2d')!
  const width = source.width / ratio
  context.font = FONT
  const rows = inRows(context, legend, width - 2 * MARGIN)
  const head = TITLE_HEIGHT + (1 + rows.length) * LINE_HEIGHT + 6
  canvas.width = source.width
  canvas.height = source.height + head * ratio
  context.fillStyle = paper
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(source, 0, head * ratio)
  context.scale(ratio, ratio)
  context.fillStyle = ink
  context.textBaseline = 'middle'
  context.font = FONT.replace('12px', '600 14px')
  context.fillText(title, MARGIN, TITLE_HEIGHT / 2 + 2, width - 2 * MARGIN)
  context.font = FONT
  context.fillText(`${figures} · ${sourceOf()}`, MARGIN, TITLE_HEIGHT + LINE_HEIGHT / 2, width - 2 * MARGIN)
  for (const [row, items] of rows.entries()) {
    const middle = TITLE_HEIGHT + (row + 1.5) * LINE_HEIGHT
    for (const { item, left } of items) {
      drawSample(context, item, MARGIN + left, middle, paper)
      context.fillStyle = ink
      context.fillText(item.text, MARGIN + left + SAMPLE_WIDTH + 6, middle)
    }
  }
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'))
  if (blob === null) return
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = `${name.replace(/[^\w.-]+/g, '-')}.png`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** Places items one beside the other, in as many rows as they need. */
function inRows(context: CanvasRenderingContext2D, legend: readonly LegendItem[], width: number) {
  const rows: { item: LegendItem; left: number }[][] = []
  let left = Number.POSITIVE_INFINITY
  for (const item of legend) {
    const own = SAMPLE_WIDTH + 6 + context.measureText(item.text).width
    if (left + own > width) {
      rows.push([])
      left = 0
    }
    rows.at(-1)!.push({ item, left })
    left += own + 18
  }
  return rows
}

function drawSample(
  context: CanvasRenderingContext2D,
  { colour, look, width = 1.5, dash = [] }: LegendItem,
  left: number,
  middle: number,
  paper: string,
): void {
  const box = { left: left + 4, top: middle - 6, width: 12, height: 12 }
  context.save()
  context.fillStyle = colour
  context.strokeStyle = colour
  if (look === 'line') {
    context.lineWidth = width
    context.setLineDash([...dash])
    context.beginPath()
    context.moveTo(left, middle)
    context.lineTo(left + SAMPLE_WIDTH, middle)
    context.stroke()
  } else if (look === 'outlined') {
    context.setLineDash([3, 2])
    context.strokeRect(box.left, box.top, box.width, box.height)
  } else {
    context.fillRect(box.left, box.top, box.width, box.height)
    if (look === 'hatched') hatch(context, box, paper, 6)
  }
  context.restore()
}
