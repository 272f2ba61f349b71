import { useState } from 'preact/hooks'
import { SECOND } from '../../../src/core/domain/time.ts'
import { formatTime, TIMES_ALLOWED } from '../figures/format-time.ts'
import type { Range } from '../series/series.ts'
import { faultOf, meaningOf, pan, readRange, SPANS, type ViewRange, zoom } from './view-range.ts'

export type RangeBarProps = {
  range: ViewRange
  /** First and last time of the data, nanoseconds. */
  stored: Range
  /** The time of the last block, which ages are counted back from. */
  last: bigint
  /** The shortest span to choose, nanoseconds: shorter ones than a funding period show nothing of payments. */
  least?: bigint
  onSpan: (name: string) => void
  onRange: (range: Range) => void
  children?: preact.ComponentChildren
}

/** Chooses the shown range by span, buttons or dates; says what is wrong with the one in the address. */
export function RangeBar({ range, stored, last, least = 0n, onSpan, onRange, children }: RangeBarProps) {
  const [dates, setDates] = useState(false)
  const offered = SPANS.filter(
    ([, ns], index) => ns === null || (ns >= least && (index === 0 || ns < stored.to - stored.from)),
  )
  return (
    <>
      <div class="range-bar">
        <fieldset class="segments" aria-label="Range up to the latest point">
          {offered.map(([name]) => (
            <button key={name} type="button" aria-pressed={range.span === name} onClick={() => onSpan(name)}>
              {name}
            </button>
          ))}
        </fieldset>
        <button
          type="button"
          class="button dates-button"
          aria-expanded={dates}
          onClick={() => setDates((shown) => !shown)}
        >
          Dates
        </button>
        {children}
        <fieldset class="segments move" aria-label="Move and zoom">
          <button type="button" aria-label="Earlier" onClick={() => onRange(pan(range, -0.5))}>
            ←
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => onRange(zoom(range, 2))}>
            −
          </button>
          <button type="button" aria-label="Zoom in" onClick={() => onRange(zoom(range, 0.5))}>
            +
          </button>
          <button type="button" aria-label="Later" onClick={() => onRange(pan(range, 0.5))}>
            →
          </button>
        </fieldset>
        <Dates
          key={`${range.follows} ${range.follows ? '' : `${range.from} ${range.to}`}`}
          range={range}
          last={last}
          open={dates}
          onRange={onRange}
        />
      </div>
      {range.fault !== null && (
        <p class="notice" role="alert">
          The range in the page's address is invalid. {range.fault} Showing: {range.span}.
        </p>
      )}
    </>
  )
}

type DatesProps = Pick<RangeBarProps, 'range' | 'last' | 'onRange'> & {
  /** Whether they are shown if there is little room. */
  open: boolean
}

/** From and to as text: dates of UTC, names, ages, or nanoseconds. Says what names mean, and what is wrong. */
function Dates({ range, last, open, onRange }: DatesProps) {
  const [from, setFrom] = useState<string | null>(null)
  const [to, setTo] = useState<string | null>(null)
  const [tried, setTried] = useState(false)
  const changed = from !== null || to !== null
  const [begin, end] = readRange(from, to, { from: range.from, to: range.to - 1n }, last)
  const fault = changed ? faultOf(begin, end) : null
  const read = 'ns' in begin && 'ns' in end ? { from: begin.ns, to: end.ns } : range
  // A week in the first field means the whole week: its end is in the other one.
  const texts = { from: from ?? shortTime(range.from), to: to ?? shortTime(read.to) }
  const meaning = fault === null ? meaningOf(from, to, read, last) : null
  return (
    <form
      class={open ? 'dates open' : 'dates'}
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (changed && fault === null) onRange(read)
      }}
    >
      <label>
        <span class="visually-hidden">From, UTC</span>
        <input
          class="date"
          value={texts.from}
          title={TIMES_ALLOWED}
          aria-invalid={fault !== null && 'fault' in begin}
          aria-describedby="range-fault"
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setFrom(event.currentTarget.value)}
        />
      </label>
      <span aria-hidden="true">–</span>
      <label>
        <span class="visually-hidden">To, UTC</span>
        <input
          class="date"
          value={texts.to}
          title={TIMES_ALLOWED}
          aria-invalid={fault !== null && !('fault' in begin)}
          aria-describedby="range-fault"
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setTo(event.currentTarget.value)}
        />
      </label>
      {changed && (
        <button type="submit" class="button">
          Go
        </button>
      )}
      <span id="range-fault" class={fault === null ? 'fault plain' : 'fault'} aria-live="polite">
        {fault === null ? meaning : tried ? fault : ''}
      </span>
    </form>
  )
}

function shortTime(ns: bigint): string {
  return formatTime(ns - (ns % SECOND))
}
