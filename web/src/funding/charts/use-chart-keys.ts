import type { RefObject } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { pan, zoom } from '../../range/view-range.ts'
import { lastAtOrBefore, type Range } from '../../series/series.ts'
import type { FundingData } from './chart-columns.ts'
import type { FundingCharts } from './funding-charts.ts'

/** The keys, for people who hear them. */
export const KEYS_TEXT =
  'Left and right arrows move from point to point; with Shift they move the range. Plus and minus zoom. Home and End select the first and last point. Escape clears the selection.'

/** The charts, and what they show; the functions are those of `FundingChartsProps`. */
export type ChartKeysOptions = {
  charts: RefObject<FundingCharts | null>
  data: FundingData | null
  range: Range
  onRange: (range: Range, settled: boolean) => void
  onPoint: (time: bigint | null) => void
  tip: (time: bigint) => readonly string[]
}

export type ChartKeys = {
  onKeyDown: (event: KeyboardEvent) => void
  /** Clears the chosen point when the charts lose the focus. */
  onBlur: () => void
  /** The lines about the chosen point, to be spoken; empty without one. */
  spoken: string
  /** Points to the chosen point again, which stays chosen while the range or the data change about it. */
  pointAgain: () => void
}

/** Moves charts, and chooses one of their points, by keys. */
export function useChartKeys(options: ChartKeysOptions): ChartKeys {
  const { charts, data, range, onRange, onPoint, tip } = options
  const latest = useRef(options)
  latest.current = options
  /** The end of the bucket that was chosen. */
  const pointed = useRef<bigint | null>(null)
  const [spoken, setSpoken] = useState('')

  const pointAt = (index: number | null) => {
    const moment = index === null ? undefined : data?.moments[index]
    pointed.current = moment === undefined ? null : moment.start + data!.bucket - 1n
    charts.current?.point(moment?.start ?? null)
    onPoint(moment?.start ?? null)
    setSpoken(moment === undefined ? '' : tip(moment.start).join('; '))
  }
  const pointAgain = () =>
    // uPlot knows the places of the new range only then.
    queueMicrotask(() => {
      if (pointed.current === null) return
      const moments = latest.current.data?.moments ?? []
      const moment = moments[lastAtOrBefore(moments, pointed.current)]
      if (moment === undefined) return
      charts.current?.point(moment.start)
      latest.current.onPoint(moment.start)
    })
  const step = (by: number) => {
    const [first, last] = shownIndexes(data, range)
    if (last < first) return
    const at = pointed.current === null ? null : lastAtOrBefore(data!.moments, pointed.current)
    const from = at ?? (by > 0 ? first - 1 : last + 1)
    pointAt(Math.min(last, Math.max(first, from + by)))
  }
  const zoomBy = (factor: number) => onRange(zoom(range, factor, placeIn(range, pointed.current)), true)
  const onKeyDown = (event: KeyboardEvent) => {
    // The buttons within have keys of their own.
    if (event.target !== event.currentTarget) return
    const [first, last] = shownIndexes(data, range)
    const actions: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? onRange(pan(range, -0.2), true) : step(-1)),
      ArrowRight: () => (event.shiftKey ? onRange(pan(range, 0.2), true) : step(1)),
      '+': () => zoomBy(0.5),
      '=': () => zoomBy(0.5),
      '-': () => zoomBy(2),
      Home: () => last >= first && pointAt(first),
      End: () => last >= first && pointAt(last),
      Escape: () => pointAt(null),
    }
    const action = actions[event.key]
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    action()
  }
  const onBlur = () => {
    if (pointed.current !== null) pointAt(null)
  }
  return { onKeyDown, onBlur, spoken, pointAgain }
}

/** Position of a time in a range, from 0 to 1; 0.5 for a time outside it. */
function placeIn({ from, to }: Range, time: bigint | null): number {
  return time === null || time < from || time >= to ? 0.5 : Number(time - from) / Number(to - from)
}

/** Indexes of the first and the last moment within a range. */
function shownIndexes(data: FundingData | null, { from, to }: Range): [number, number] {
  const moments = data?.moments ?? []
  return [lastAtOrBefore(moments, from - 1n) + 1, lastAtOrBefore(moments, to - 1n)]
}
