import { useState } from 'preact/hooks'
import { describeWatch } from './judge.ts'
import { addWatch, isWatch, keyOf, MOST_WATCHES, removeWatch, type Watch, watches } from './watches.ts'

/** Asks the browser to allow notifications, if it has not been asked. */
async function askToNotify(): Promise<void> {
  if (globalThis.Notification?.permission === 'default') await Notification.requestPermission()
}

/** An outline. */
const BELL = 'M3 12h10l-1.5-2V7a3.5 3.5 0 0 0-7 0v3z M7 14.5h2'

const mayNotify = () => globalThis.Notification?.permission === 'granted'

/** The watches of one subject, with what can be added. */
function Watches({ own, children }: { own: readonly Watch[]; children: preact.ComponentChildren }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <div class="notify-me">
      <button type="button" class="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <svg viewBox="0 0 16 16" width="14" height="14" class="copy-icon" aria-hidden="true">
          <path d={BELL} />
        </svg>
        <span class="notify-label">Notify me</span>
        {own.length > 0 && ` (${own.length})`}
      </button>
      {isOpen && (
        <div class="watches">
          {children}
          <ul>
            {own.map((watch) => (
              <li key={keyOf(watch)}>
                {describeWatch(watch)}{' '}
                <button type="button" class="copy" onClick={() => removeWatch(watch)}>
                  Remove
                </button>
              </li>
            ))}
          </ul>
          <p class="quiet">
            Watched by this browser, while a page of Lyra is open, also in a tab that is not seen. A device
            that sleeps, and a browser that puts tabs to sleep, as on phones, watch nothing meanwhile.
            {own.length > 0 &&
              !mayNotify() &&
              ' It shows no notifications of this page: you are told on the page alone.'}
          </p>
        </div>
      )}
    </div>
  )
}

/** Watches the rate of a market. */
export function NotifyOfRate({ marketId }: { marketId: string }) {
  const own = watches.value.filter((watch) => watch.marketId === marketId && watch.kind !== 'minimum')
  const [kind, setKind] = useState<'above' | 'below' | 'sign'>('above')
  const [value, setValue] = useState('')
  const typed = value.trim().replace('\u2212', '-').replace(/^\+/, '').replace(/\s*%$/, '')
  const watch = { marketId, kind, value: kind === 'sign' ? '' : typed, partyId: '' }
  const isComplete = isWatch(watch)
  return (
    <Watches own={own}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!isComplete) return
          addWatch(watch)
          void askToNotify().then(() => setValue(''))
        }}
      >
        <label class="field inline">
          <span class="field-label">If the rate</span>
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value as typeof kind)}>
            <option value="above">is above</option>
            <option value="below">is below</option>
            <option value="sign">changes its sign</option>
          </select>
        </label>
        {kind !== 'sign' && (
          <label class="field inline">
            <span class="visually-hidden">Value, in percent</span>
            <input
              class="units"
              value={value}
              inputMode="decimal"
              autocomplete="off"
              placeholder="0.05"
              aria-invalid={typed !== '' && !isComplete}
              onInput={(event) => setValue(event.currentTarget.value)}
            />
            <span class="unit"> % per period</span>
          </label>
        )}
        <button type="submit" class="button" disabled={!isComplete || watches.value.length >= MOST_WATCHES}>
          Add
        </button>
      </form>
    </Watches>
  )
}

/** Watches whether a provider is on the book for the minimum time. */
export function NotifyOfProvider({ marketId, partyId }: { marketId: string; partyId: string }) {
  const own = watches.value.filter((watch) => watch.marketId === marketId && watch.partyId === partyId)
  return (
    <Watches own={own}>
      {own.length === 0 && (
        <button
          type="button"
          class="button"
          disabled={watches.value.length >= MOST_WATCHES}
          onClick={() => {
            addWatch({ marketId, kind: 'minimum', value: '', partyId })
            void askToNotify()
          }}
        >
          If it is below the minimum time on book
        </button>
      )}
    </Watches>
  )
}
