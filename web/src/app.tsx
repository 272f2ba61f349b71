import { useEffect, useRef } from 'preact/hooks'
import { CheckpointsView } from './checkpoints/checkpoints-view.tsx'
import { FundingView } from './funding/funding-view.tsx'
import { type View, view } from './location.ts'
import { MarketsView } from './markets/markets-view.tsx'
import { NodeView } from './node/node-view.tsx'
import { ProvidersView } from './providers/providers-view.tsx'
import { ConnectionBanner } from './shell/connection-banner.tsx'
import { Header } from './shell/header.tsx'

const TITLES: Record<View, string> = {
  markets: 'Markets',
  funding: 'Funding',
  providers: 'Liquidity providers',
  checkpoints: 'Checkpoints',
  node: 'Node',
}

const CONTENTS: Record<View, () => preact.JSX.Element | null> = {
  markets: MarketsView,
  funding: FundingView,
  providers: ProvidersView,
  checkpoints: CheckpointsView,
  node: NodeView,
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
        Skip to the content
      </a>
      <Header />
      <ConnectionBanner />
      <main id="main" ref={main} tabIndex={-1}>
        {/* The tab above says which view it is; the heading is for those who go from one to the next. */}
        <h1 class="visually-hidden">{TITLES[shown]}</h1>
        <Content />
      </main>
      <footer class="footer">
        <span>
          Prices, payments and commitments are in the decimals of the market's settlement asset. The exact
          number, as the network sent it, is on hover and in what you copy.
        </span>
        <span>
          Times are UTC. <a href="/docs">API reference</a>
        </span>
      </footer>
    </>
  )
}
