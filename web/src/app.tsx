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

const CONTENTS: Record<View, () => preact.JSX.Element> = {
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
    // Whoever goes to another view by keyboard goes on reading there.
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
        <h1>{TITLES[shown]}</h1>
        <Content />
      </main>
      <footer class="footer">
        <span>
          Figures are whole numbers as the network sends them: a market's decimal places are not known here.
        </span>
        <span>Times are UTC.</span>
      </footer>
    </>
  )
}
