import { goTo, param } from '../location.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Link } from '../parts/link.tsx'
import { MarketPicker } from '../parts/market-picker.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { coverageError, latestCoverage } from '../service/coverage.ts'
import { FundingMarket } from './funding-market.tsx'

/** A market's funding data points over time. */
export function FundingView() {
  const coverage = latestCoverage()
  const error = coverageError.value
  if (coverage === null) {
    return error === null ? (
      <Loading what="markets" />
    ) : (
      <Failure error={error} onRetry={() => location.reload()} />
    )
  }
  const markets = coverage.fundingPeriodDataPoints.map((entry) => entry.marketId)
  const marketId = param('market') ?? markets[0] ?? null
  if (marketId === null) {
    return (
      <Empty title="No data points yet">No block so far had a data point of a funding period in it.</Empty>
    )
  }
  const held = coverage.fundingPeriodDataPoints.find((entry) => entry.marketId === marketId)
  return (
    <>
      <div class="view-bar">
        <MarketPicker
          marketId={marketId}
          markets={markets}
          onPick={(market) => goTo('funding', { market })}
        />
        <CopyButton text={marketId} what="the market id" label="Copy id" />
        <Link view="providers" params={{ market: marketId }} class="quiet-link">
          Providers
        </Link>
      </div>
      {held === undefined ? (
        <Empty title="No data points of this market">
          The service holds none: it is no perpetual market, it is not known here, or its first funding period
          has not begun.
        </Empty>
      ) : (
        <FundingMarket key={marketId} held={held} />
      )}
    </>
  )
}
