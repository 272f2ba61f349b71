import { useEffect, useRef, useState } from 'preact/hooks'
import { groupDigits } from '../figures/format-figure.ts'
import { setParams } from '../location.ts'
import { firstHeight, lastHeight, latestCoverage } from '../service/coverage.ts'
import { lyra } from '../service/lyra.ts'
import { findHeight, readHeight } from './find-height.ts'

export type HeightFormProps = {
  /** The height that the address names. */
  height: string | null
  /** Whether the address names a place in the list, too: a link written by hand has the height alone. */
  isPlaced: boolean
}

/** Goes to the checkpoint at a height, or the last one below it. */
export function HeightForm({ height, isPlaced }: HeightFormProps) {
  const [text, setText] = useState(height ?? '')
  const [said, setSaid] = useState('')
  const search = useRef<AbortController | null>(null)
  const [searching, setSearching] = useState(false)
  useEffect(() => () => search.current?.abort(), [])
  const given = readHeight(text)
  const fault = given === null && text.trim() !== ''

  // Which heights there are is not known at once: a search before that would be lost in silence.
  const coverage = latestCoverage()
  const go = async ({ push }: { push: boolean }) => {
    if (given === null || coverage === null) return
    const stop = new AbortController()
    search.current = stop
    setSearching(true)
    setSaid('Searching …')
    try {
      const heights = {
        first: firstHeight(coverage),
        last: BigInt(lastHeight(coverage)),
      }
      const place = await findHeight(lyra, BigInt(given), heights, stop.signal, (atBlock) =>
        setSaid(`Searching, at block ${groupDigits(atBlock)} …`),
      )
      if (place.atBlock === null) {
        setSaid(`No checkpoint at block ${groupDigits(given)} or below.`)
      } else {
        setSaid('')
        setParams({ height: given, after: place.before, before: null }, { push })
      }
    } catch {
      setSaid(stop.signal.aborted ? '' : 'The search failed; try again.')
    }
    setSearching(false)
  }
  const isReady = coverage !== null
  useEffect(() => {
    if (isReady && height !== null && !isPlaced) void go({ push: false })
  }, [isReady])
  return (
    <form
      class="height-form"
      onSubmit={(event) => {
        event.preventDefault()
        void go({ push: true })
      }}
    >
      <label class="field">
        <span class="field-label">Go to block</span>
        <input
          class="height-input"
          inputMode="numeric"
          value={text}
          autocomplete="off"
          aria-invalid={fault}
          aria-describedby="height-said"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {searching ? (
        <button type="button" class="button" onClick={() => search.current?.abort()}>
          Stop
        </button>
      ) : (
        <button type="submit" class="button" disabled={given === null || coverage === null}>
          Go
        </button>
      )}
      <span id="height-said" class="quiet" aria-live="polite">
        {fault ? 'A height is a whole number: write 1234 or 1,234.' : said}
      </span>
    </form>
  )
}
