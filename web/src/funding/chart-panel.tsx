import { useEffect, useRef, useState } from 'preact/hooks'
import { isDark } from '../theme.ts'
import { type Charts, createCharts } from './charts.ts'
import type { FundingData } from './feed.ts'
import { describeMoment } from './figures.tsx'
import { lastAtOrBefore } from './point.ts'
import type { Moment } from './series.ts'
import type { Range } from './tiles.ts'
import { pan, zoom } from './view-range.ts'

const NARROW_PX = 640

const KEYS_TEXT =
  'Left and right arrows go from point to point, with Shift they move the range; plus and minus zoom; Home and End go to the first and the last point; Escape points at none.'

export type ChartPanelProps = {
  data: FundingData | null
  range: Range
  hidden: ReadonlySet<string>
  onRange: (range: Range, settled: boolean) => void
  onPoint: (moment: Moment | null) => void
}

/** The charts, moved and read by mouse, by touch and by keyboard. */
export function ChartPanel({ data, range, hidden, onRange, onPoint }: ChartPanelProps) {
  const prices = useRef<HTMLDivElement>(null)
  const difference = useRef<HTMLDivElement>(null)
  const charts = useRef<Charts | null>(null)
  const pointed = useRef<number | null>(null)
  const [spoken, setSpoken] = useState('')
  const latest = useRef({ data, range, hidden, onRange, onPoint })
  latest.current = { data, range, hidden, onRange, onPoint }
  const dark = isDark()
  const narrow = useNarrow()

  // The colours are read when the charts are made.
  useEffect(() => {
    const made = createCharts({
      prices: prices.current!,
      difference: difference.current!,
      narrow,
      onRange: (next, settled) => latest.current.onRange(next, settled),
      onHover: (moment) => latest.current.onPoint(moment),
    })
    charts.current = made
    made.setRange(latest.current.range)
    made.setHidden(latest.current.hidden)
    if (latest.current.data !== null) made.setData(latest.current.data)
    return () => made.destroy()
  }, [dark, narrow])
  useEffect(() => charts.current?.setRange(range), [range.from, range.to])
  useEffect(() => {
    if (data !== null) charts.current?.setData(data)
  }, [data])
  useEffect(() => charts.current?.setHidden(hidden), [hidden])

  const pointAt = (index: number | null) => {
    pointed.current = index
    charts.current?.point(index)
    const moment = index === null ? null : (latest.current.data?.moments[index] ?? null)
    onPoint(moment)
    setSpoken(moment === null ? '' : describeMoment(moment))
  }
  const step = (by: number) => {
    const [first, last] = shownIndexes(data, range)
    if (last < first) return
    const from = pointed.current ?? (by > 0 ? first - 1 : last + 1)
    pointAt(Math.min(last, Math.max(first, from + by)))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const [first, last] = shownIndexes(data, range)
    const actions: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? onRange(pan(range, -0.2), true) : step(-1)),
      ArrowRight: () => (event.shiftKey ? onRange(pan(range, 0.2), true) : step(1)),
      '+': () => onRange(zoom(range, 0.5), true),
      '=': () => onRange(zoom(range, 0.5), true),
      '-': () => onRange(zoom(range, 2), true),
      Home: () => last >= first && pointAt(first),
      End: () => last >= first && pointAt(last),
      Escape: () => pointAt(null),
    }
    const action = actions[event.key]
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    action()
  }
  return (
    <div
      class="charts"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is read and moved by keys.
      tabIndex={0}
      role="application"
      aria-roledescription="chart"
      aria-label="Funding data points over time"
      aria-describedby="chart-keys"
      onKeyDown={onKeyDown}
      onBlur={() => pointed.current !== null && pointAt(null)}
    >
      <div ref={prices} class="chart" />
      <div class="chart-title">TWAP difference, internal − external</div>
      <div ref={difference} class="chart" />
      <p id="chart-keys" class="visually-hidden">
        {KEYS_TEXT}
      </p>
      <p class="visually-hidden" aria-live="polite">
        {spoken}
      </p>
    </div>
  )
}

/** Indexes of the first and the last moment within a range. */
function shownIndexes(data: FundingData | null, { from, to }: Range): [number, number] {
  const moments = data?.moments ?? []
  return [lastAtOrBefore(moments, from - 1n) + 1, lastAtOrBefore(moments, to - 1n)]
}

function useNarrow(): boolean {
  const query = useRef(matchMedia(`(max-width: ${NARROW_PX}px)`))
  const [narrow, setNarrow] = useState(query.current.matches)
  useEffect(() => {
    const change = ({ matches }: MediaQueryListEvent) => setNarrow(matches)
    query.current.addEventListener('change', change)
    return () => query.current.removeEventListener('change', change)
  }, [])
  return narrow
}
