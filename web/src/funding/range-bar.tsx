import { useState } from 'preact/hooks'
import { formatTime, parseTime } from '../figures/format-time.ts'
import type { Range } from './tiles.ts'
import { pan, SPANS, type ViewRange, zoom } from './view-range.ts'

export type RangeBarProps = {
  range: ViewRange
  /** How long the market's points go back, nanoseconds. */
  held: Range
  onSpan: (name: string) => void
  onRange: (range: Range) => void
}

/** What part of the time is looked at, by span, by buttons, by dates. */
export function RangeBar({ range, held, onSpan, onRange }: RangeBarProps) {
  const offered = SPANS.filter(([, ns], index) => ns === null || index === 0 || ns < held.to - held.from)
  return (
    <div class="range-bar">
      <fieldset class="segments" aria-label="Span up to the latest point">
        {offered.map(([name]) => (
          <button key={name} type="button" aria-pressed={range.span === name} onClick={() => onSpan(name)}>
            {name}
          </button>
        ))}
      </fieldset>
      <fieldset class="segments" aria-label="Move and zoom">
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
        onRange={onRange}
      />
    </div>
  )
}

/** From and to as text: dates of UTC, or nanoseconds. */
function Dates({ range, onRange }: { range: ViewRange; onRange: (range: Range) => void }) {
  const [from, setFrom] = useState<string | null>(null)
  const [to, setTo] = useState<string | null>(null)
  const texts = { from: from ?? shortTime(range.from), to: to ?? shortTime(range.to) }
  const times = {
    from: from === null ? range.from : parseTime(from),
    to: to === null ? range.to : parseTime(to),
  }
  const right = times.from !== null && times.to !== null && times.from < times.to
  return (
    <form
      class="dates"
      onSubmit={(event) => {
        event.preventDefault()
        if (right) onRange({ from: times.from!, to: times.to! })
      }}
    >
      <label>
        <span class="visually-hidden">From, UTC</span>
        <input
          class="date"
          value={texts.from}
          aria-invalid={times.from === null}
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
          aria-invalid={!right}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setTo(event.currentTarget.value)}
        />
      </label>
      {(from !== null || to !== null) && (
        <button type="submit" class="button" disabled={!right}>
          Go
        </button>
      )}
    </form>
  )
}

function shortTime(ns: bigint): string {
  return formatTime(ns - (ns % 1_000_000_000n))
}
