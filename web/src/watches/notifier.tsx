import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { pollCoverage } from '../service/coverage.ts'
import { useStanding } from '../service/use-standing.ts'
import { useSummaries } from '../service/use-summaries.ts'
import { type Judged, judgeProvider, judgeRate } from './judge.ts'
import { keyOf, noteSeen, type Watch, watches } from './watches.ts'

/** What the reader was told on this page, the latest last. */
const told = signal<readonly string[]>([])

/** More would cover the page. */
const MOST_TOLD = 3

/** How often a hidden page asks for the last block, which standings follow; milliseconds. */
const HIDDEN_POLL_MS = 60_000

/** A message is shown on all tabs, because the one that watches may not be the one that is seen. */
const tabs = new BroadcastChannel('lyra-told')
tabs.onmessage = ({ data }: MessageEvent<string>) => showTold(data)

/**
 * Follows what is watched, and tells of it: by a notification of the browser, if that is allowed, and on the page. Of hidden tabs
 * only the one that has a lock goes on, because each would take one of the browser's connections.
 */
export function Notifier() {
  const [isHidden, setHidden] = useState(document.hidden)
  const [hasLock, setLock] = useState(false)
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    document.addEventListener('visibilitychange', () => setHidden(document.hidden), { signal })
    const ended = new Promise((resolve) => signal.addEventListener('abort', resolve))
    const hold = () => {
      setLock(true)
      return ended
    }
    // Browsers have locks where they have notifications: with HTTPS, and on this machine.
    navigator.locks?.request('lyra-watches', { signal }, hold).catch(() => {})
    return () => stop.abort()
  }, [])
  const isHiddenWatcher = isHidden && hasLock
  useEffect(() => {
    if (!isHiddenWatcher) return
    const timer = setInterval(() => void pollCoverage(), HIDDEN_POLL_MS)
    return () => clearInterval(timer)
  }, [isHiddenWatcher])
  const watched = isHidden && !hasLock ? [] : watches.value
  const rates = watched.filter(({ kind }) => kind !== 'minimum')
  const providers = new Set(watched.flatMap(({ partyId }) => partyId || []))
  return (
    <>
      {rates.length > 0 && <RateWatcher rates={rates} />}
      {[...providers].map((partyId) => (
        <ProviderWatcher key={partyId} partyId={partyId} />
      ))}
      <div class="told" role="status">
        {told.value.map((message) => (
          <p key={message} class="notice">
            {message}{' '}
            <button
              type="button"
              class="copy"
              onClick={() => {
                told.value = told.value.filter((other) => other !== message)
              }}
            >
              Close
            </button>
          </p>
        ))}
      </div>
    </>
  )
}

function RateWatcher({ rates }: { rates: readonly Watch[] }) {
  const { data } = useSummaries(true)
  useEffect(() => {
    if (data === null) return
    tell(
      rates.map((watch) => {
        const summary = data.find(({ marketId }) => marketId === watch.marketId)
        return [watch, summary === undefined ? null : judgeRate(watch, summary)]
      }),
    )
  }, [data, rates])
  return null
}

function ProviderWatcher({ partyId }: { partyId: string }) {
  const { data } = useStanding({ partyId })
  useEffect(() => {
    if (data === null) return
    tell(
      watches.value
        .filter((watch) => watch.partyId === partyId)
        .map((watch) => {
          const own = data.liquidityStanding.find(({ marketId }) => marketId === watch.marketId)
          return [watch, judgeProvider(watch, own)]
        }),
    )
  }, [data, partyId])
  return null
}

/** Tells of what has become so, and remembers how everything is. */
function tell(judged: readonly (readonly [Watch, Judged | null])[]): void {
  const changed = judged.flatMap(([watch, now]) =>
    now === null || now.seen === watch.seen ? [] : [[keyOf(watch), now] as const],
  )
  noteSeen(new Map(changed.map(([key, { seen }]) => [key, seen])))
  for (const [key, { message }] of changed) {
    if (message === null) continue
    showTold(message)
    tabs.postMessage(message)
    // Another tab's notification of the same has the same tag, and takes its place.
    if (globalThis.Notification?.permission === 'granted')
      new Notification('Lyra', { body: message, tag: key })
  }
}

function showTold(message: string): void {
  told.value = [...told.value.filter((other) => other !== message), message].slice(-MOST_TOLD)
}
