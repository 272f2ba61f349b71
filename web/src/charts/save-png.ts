import type uPlot from 'uplot'
import { FONT } from './chart-options.ts'

/** Room for the title above the chart, pixels of the style sheet. */
const TITLE_HEIGHT = 34

/** Saves a chart as it is on the screen, with its title, as a PNG file. */
export async function savePng(
  chart: uPlot,
  { title, name, paper, ink }: { title: string; name: string; paper: string; ink: string },
): Promise<void> {
  const source = chart.ctx.canvas
  const ratio = devicePixelRatio
  const canvas = document.createElement('canvas')
  canvas.width = source.width
  canvas.height = source.height + TITLE_HEIGHT * ratio
  const context = canvas.getContext('2d')!
  context.fillStyle = paper
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(source, 0, TITLE_HEIGHT * ratio)
  context.scale(ratio, ratio)
  context.fillStyle = ink
  context.font = FONT.replace('12px', '600 14px')
  context.textBaseline = 'middle'
  context.fillText(title, 12, TITLE_HEIGHT / 2 + 2, canvas.width / ratio - 24)
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'))
  if (blob === null) return
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = `${name.replace(/[^\w.-]+/g, '-')}.png`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
