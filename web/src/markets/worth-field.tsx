import { useState } from 'preact/hooks'
import { readUnits } from '../funding/data/units.ts'
import { setParams } from '../location.ts'
import { USUAL_WORTH } from './compare-lines.ts'

/** What a position is worth, as it was typed: a number other than 0; null if it is none. */
export function worthIn(typed: string): string | null {
  const read = readUnits(typed)
  return 'units' in read && read.units.length <= 20 ? read.units : null
}

/** Asks what the position is worth. */
export function WorthField({ worth, symbol }: { worth: string; symbol: string }) {
  const [typed, setTyped] = useState(worth)
  return (
    <label class="field inline">
      <span class="field-label">Position worth</span>
      <input
        class="units"
        value={typed}
        title="What the position is worth at each payment, below zero for a short one"
        inputMode="decimal"
        spellcheck={false}
        autocomplete="off"
        aria-invalid={worthIn(typed) === null}
        onInput={({ currentTarget: { value } }) => setTyped(value)}
        onChange={({ currentTarget: { value } }) => {
          const read = worthIn(value)
          if (read !== null) setParams({ worth: read === USUAL_WORTH ? null : read })
        }}
      />
      {symbol !== '' && <span class="unit"> {symbol}</span>}
    </label>
  )
}
