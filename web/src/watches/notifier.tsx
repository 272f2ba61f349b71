import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useSummaries } from '../markets/use-summaries.ts'
import { useStanding } from '../providers/standing.ts'
import { type Judged, judgeProvider, judgeRate } from './judge.ts'
import { keyOf, noteSeen, type Watch, watches } from './watches.ts'

/** What the reader was told on this page, the latest last. */
const told = signal<readonly string[]>([])

/** More would cover the page. */
const MOST_TOLD = 3

/** Follows what is watched, and tells of it: by a notification of the browser, if that is allowed, and on the page. */
export function Notifier() {
  const rates = watches.value.filter(({ kind }) => kind !== 'minimum')
  const providers = new Set(watches.value.flatMap(({ partyId }) => partyId || []))
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
  const { data } = useSummaries()
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
    told.value = [...told.value.filter((other) => other !== message), message].slice(-MOST_TOLD)
    // Another tab's notification of the same has the same tag, and takes its place.
    if (globalThis.Notification?.permission === 'granted')
      new Notification('Lyra', { body: message, tag: key })
  }
}
