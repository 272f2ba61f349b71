import { goTo } from '../location.ts'
import { Link } from '../parts/link.tsx'
import { useNarrow } from '../parts/narrow.ts'
import { MarketBar, useSummary } from '../parts/pickers/market-bar.tsx'
import { beforeCoverage } from '../parts/states/before-coverage.tsx'
import { Empty, Skeleton } from '../parts/states/states.tsx'
import { lastHeight, latestCoverage } from '../service/coverage.ts'
import { instrumentOf } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { knownMarkets, MARKET_ID } from '../service/markets.ts'
import { whyNoFunding } from '../service/summary.ts'
import { useQuery } from '../service/use-query.ts'
import { NotifyOfRate } from '../watches/notify-me.tsx'
import { fundingMarket, storedRange } from './data/requests.ts'
import { FundingMarket } from './funding-market.tsx'
import { MarkPrice } from './mark-price.tsx'

/** A market's funding: rates, prices and TWAPs over time. */
export function FundingView() {
  const coverage = latestCoverage()
  const markets = knownMarkets('funding')
  const marketId = fundingMarket()
  // The first part of the coverage of a service with more than 1,000 markets may not name this one.
  const isLeftOut =
    coverage !== null && coverage.next !== null && marketId !== null && MARKET_ID.test(marketId)
  const own = useQuery(
    isLeftOut ? marketId : null,
    (signal) => lyra.coverage({ marketId: marketId!, signal }),
    { version: coverage === null ? '' : lastHeight(coverage) },
  )
  const summary = useSummary(marketId, markets)
  const narrow = useNarrow()
  const bar = (
    <MarketBar
      marketId={marketId}
      summary={summary}
      markets={markets}
      onPick={(market) => goTo('funding', market === null ? {} : { market })}
      // On a phone it stands below the charts.
      beside={!narrow && <MarkPrice query={summary} />}
    >
      {marketId !== null && <NotifyOfRate key={marketId} marketId={marketId} />}
      <Link view="providers" params={{ market: marketId }} class="quiet-link">
        Providers
      </Link>
    </MarketBar>
  )
  const before = beforeCoverage('funding', bar)
  if (before !== null || coverage === null) return before
  if (marketId === null && markets.length > 0) {
    return (
      <>
        {bar}
        <section class="panel">
          <Skeleton what="markets" tall />
        </section>
      </>
    )
  }
  if (marketId === null) {
    return (
      <Empty title="No funding yet">
        No data point or funding period has been ingested yet. Only perpetual markets have them.
      </Empty>
    )
  }
  const product = whyNoFunding(instrumentOf(marketId))
  const stored = storedRange(own.data ?? coverage, marketId)
  return (
    <>
      {bar}
      {stored !== null && (
        <FundingMarket key={marketId} marketId={marketId} stored={stored} summary={summary} />
      )}
      {stored === null && !MARKET_ID.test(marketId) && (
        <Empty title="Invalid market id">
          <code>{marketId}</code> is in the page's address; an id has 64 hex digits. Choose a market above, by
          its code, name or id.
        </Empty>
      )}
      {stored === null && MARKET_ID.test(marketId) && !own.loading && (
        <Empty title="No funding of this market">
          {product !== null
            ? `It pays ${product}. Only perpetual markets have funding.`
            : 'The service has no data points or funding periods of this market: it is not a perpetual market, it is unknown here, or its first period has not begun.'}
        </Empty>
      )}
    </>
  )
}
