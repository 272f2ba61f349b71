import type uPlot from 'uplot'
import { formatTime } from '../figures/format-time.ts'
import { nanosecondsOf } from '../series/series.ts'

const SECONDS_OF_DAY = 86_400

/** Distance between the crosshair and its text, pixels. */
const TIP_GAP = 12

/** A value on the axis: with the decimals that a pixel distinguishes. */
export function axisFigure(value: number, perPixel: number, suffix: string): string {
  const places = Math.min(12, Math.max(0, Math.ceil(-Math.log10(perPixel))))
  const { format } = new Intl.NumberFormat('en', {
    minimumFractionDigits: places,
    maximumFractionDigits: places,
    signDisplay: 'negative',
  })
  return `${format(value)}${suffix}`
}

/** A time on the axis, in seconds: to the day, minute or second that a pixel distinguishes. */
export function axisTime(seconds: number, perPixel: number): string {
  return formatTime(nanosecondsOf(seconds)).slice(
    0,
    perPixel >= SECONDS_OF_DAY ? 10 : perPixel >= 60 ? 16 : 19,
  )
}

/**
 * Writes the crosshair's values on the axes and, in the chart under the pointer, lines about its time beside it. Screen
 * readers skip them: the page has the same as text.
 *
 * @param tip the lines about a time, in seconds
 */
export function crosshair(suffix: string, tip: (seconds: number) => readonly string[]): uPlot.Plugin {
  const [figure, time, beside] = [labelOf('figure'), labelOf('time'), labelOf('tip')]
  const show = (chart: uPlot) => {
    const { left = -1, top = -1 } = chart.cursor
    const { offsetLeft, offsetTop, clientWidth, clientHeight } = chart.over
    // In charts that only follow the pointer, the crosshair's height has no meaning.
    const isPointed = left >= 0 && chart.over.matches(':hover')
    const lines = isPointed ? tip(chart.posToVal(left, 'x')) : []
    const { min: least, max: most } = chart.scales.y!
    time.hidden = left < 0
    figure.hidden = !isPointed || least == null || most == null
    beside.hidden = lines.length === 0
    if (!time.hidden) {
      const { min, max } = chart.scales.x!
      time.textContent = axisTime(chart.posToVal(left, 'x'), (max! - min!) / clientWidth)
      time.style.left = `${within(chart, offsetLeft + left - time.offsetWidth / 2, time)}px`
      time.style.top = `${offsetTop + clientHeight}px`
    }
    if (!figure.hidden) {
      figure.textContent = axisFigure(chart.posToVal(top, 'y'), (most! - least!) / clientHeight, suffix)
      figure.style.left = `${within(chart, offsetLeft - figure.offsetWidth, figure)}px`
      figure.style.top = `${offsetTop + top}px`
    }
    if (!beside.hidden) {
      beside.textContent = lines.join('\n')
      const at = left > clientWidth / 2 ? left - TIP_GAP - beside.offsetWidth : left + TIP_GAP
      beside.style.left = `${within(chart, offsetLeft + at, beside)}px`
    }
  }
  return {
    hooks: {
      init: (chart) => {
        chart.over.parentElement!.append(figure, time, beside)
      },
      setCursor: show,
    },
  }
}

/** A left edge at which an element does not leave the chart. */
function within(chart: uPlot, left: number, { offsetWidth }: HTMLElement): number {
  return Math.max(0, Math.min(chart.width - offsetWidth, left))
}

function labelOf(name: string): HTMLElement {
  const element = document.createElement('div')
  element.className = `crosshair-${name}`
  element.ariaHidden = 'true'
  element.hidden = true
  return element
}
