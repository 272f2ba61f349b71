import { pan, zoom } from '../range/view-range.ts'
import type { Range } from '../series/series.ts'

export type GestureTarget = {
  /** The shown range. */
  range(): Range
  /** Shows another range; `settled` once the gesture has ended. */
  move(range: Range, settled: boolean): void
}

/** How far the wheel is turned for twice the range. */
const WHEEL_STEP = 300

/**
 * Lets a chart's plot be moved and zoomed: with the wheel while Ctrl or Cmd is held, sideways by a wheel that turns
 * sideways, by dragging while Shift is held, by one finger or two, twice as wide by a double click. Returns a
 * function that ends that.
 */
export function attachGestures(plot: HTMLElement, target: GestureTarget): () => void {
  const stop = new AbortController()
  const options = { signal: stop.signal, passive: false } as const
  const placeOf = (clientX: number) => {
    const { left, width } = plot.getBoundingClientRect()
    return Math.min(1, Math.max(0, (clientX - left) / width))
  }

  plot.addEventListener(
    'wheel',
    (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault()
        target.move(zoom(target.range(), 2 ** (event.deltaY / WHEEL_STEP), placeOf(event.clientX)), true)
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault()
        target.move(pan(target.range(), event.deltaX / plot.clientWidth), true)
      }
    },
    options,
  )
  plot.addEventListener(
    'dblclick',
    (event) => target.move(zoom(target.range(), 2, placeOf(event.clientX)), true),
    options,
  )

  const fingers = new Map<number, number>()
  plot.addEventListener(
    'pointerdown',
    (event) => {
      const drags = event.pointerType !== 'mouse' || (event.shiftKey && event.button === 0)
      if (!drags) return
      plot.setPointerCapture(event.pointerId)
      fingers.set(event.pointerId, event.clientX)
    },
    options,
  )
  plot.addEventListener(
    'pointermove',
    (event) => {
      const before = fingers.get(event.pointerId)
      if (before === undefined) return
      const others = [...fingers].filter(([id]) => id !== event.pointerId)
      fingers.set(event.pointerId, event.clientX)
      const other = others[0]?.[1]
      if (other === undefined) {
        target.move(pan(target.range(), (before - event.clientX) / plot.clientWidth), false)
        return
      }
      const distance = Math.abs(event.clientX - other)
      if (distance > 10) {
        target.move(zoom(target.range(), Math.abs(before - other) / distance, placeOf(other)), false)
      }
    },
    options,
  )
  for (const name of ['pointerup', 'pointercancel'] as const) {
    plot.addEventListener(
      name,
      (event) => {
        if (fingers.delete(event.pointerId) && fingers.size === 0) target.move(target.range(), true)
      },
      options,
    )
  }
  return () => stop.abort()
}
