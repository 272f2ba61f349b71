import { useEffect, useRef } from 'preact/hooks'
import { formatLocal } from './figures/format-time.ts'
import { type View, view } from './location.ts'
import { type Lazy, lazy } from './parts/states/lazy.tsx'
import { ConnectionBanner } from './shell/connection-banner.tsx'
import { Header } from './shell/header.tsx'
import { hasWatches } from './watches/has-watches.ts'

const TITLES: Record<View, string> = {
  markets: 'Markets',
  funding: 'Funding',
  providers: 'Liquidity providers',
  party: 'Party',
  checkpoints: 'Checkpoints',
  node: 'Node',
}

/** Each view is a file of its own. */
const CONTENTS: Record<View, Lazy<object>> = {
  markets: lazy('markets', async () => (await import('./markets/markets-view.tsx')).MarketsView),
  funding: lazy('funding', async () => (await import('./funding/funding-view.tsx')).FundingView),
  providers: lazy('providers', async () => (await import('./providers/providers-view.tsx')).ProvidersView),
  party: lazy('the party', async () => (await import('./party/party-view.tsx')).PartyView),
  checkpoints: lazy(
    'checkpoints',
    async () => (await import('./checkpoints/checkpoints-view.tsx')).CheckpointsView,
  ),
  node: lazy('the node', async () => (await import('./node/node-view.tsx')).NodeView),
}

/** Its code is loaded only if something is watched. */
const Notifier = lazy('notifications', async () => (await import('./watches/notifier.tsx')).Notifier, true)

/** Time of loading the other views, so that they open at once, even while the service is unreachable. */
const LOAD_OTHERS_MS = 4_000

/** Loads the view that the address names, and the others after it. */
export function loadViews(): void {
  CONTENTS[view.peek()].load()
  setTimeout(() => {
    for (const { load } of Object.values(CONTENTS)) load()
  }, LOAD_OTHERS_MS)
}

export function App() {
  const shown = view.value
  const Content = CONTENTS[shown]
  const main = useRef<HTMLElement>(null)
  const first = useRef(true)
  useEffect(() => {
    document.title = `${TITLES[shown]} · Lyra`
    // After a change of view by keyboard, reading continues there.
    if (!first.current) main.current?.focus({ preventScroll: true })
    first.current = false
  }, [shown])
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <Header />
      <ConnectionBanner />
      {hasWatches.value && <Notifier />}
      <main id="main" ref={main} tabIndex={-1}>
        {/* The tab above names the view; the heading is for navigation by headings. */}
        <h1 class="visually-hidden">{TITLES[shown]}</h1>
        <Content />
      </main>
      <footer class="footer">
        <span>
          Amounts are in whole units of the market's settlement asset, or as sent if it is not known. Hover
          over a figure to see the exact number, which is also what is copied, in the same unit.
        </span>
        <span>
          Times are UTC
          {formatLocal(BigInt(Date.now()) * 1_000_000n) !== null &&
            ', and those of your clocks where it says “here”'}
          . <a href="/docs">API reference</a>
        </span>
      </footer>
    </>
  )
}
