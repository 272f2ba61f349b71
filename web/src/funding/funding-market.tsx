import type { MarketSummary } from 'lyra-client'
import { groupDigits } from '../figures/format-figure.ts'
import { FreshnessText } from '../parts/states/freshness-text.tsx'
import { MissingRows } from '../parts/states/missing-rows.tsx'
import { RangeBar } from '../range/range-bar.tsx'
import type { Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { marketUnit } from '../service/instruments.ts'
import type { Query } from '../service/use-query.ts'
import { ChartSection } from './charts/chart-section.tsx'
import { showRange, showSpan, useShown } from './data/shown.ts'
import { useFunding } from './data/use-funding.ts'
import { NowSection } from './now/now-section.tsx'
import { NamedPeriodPayments } from './tables/period-payments.tsx'
import { PeriodsTable } from './tables/periods-table.tsx'
import { PointsTable } from './tables/points-table.tsx'

export type FundingMarketProps = {
  marketId: string
  /** From the market's first point or period to its last. */
  stored: Range
  summary: Query<MarketSummary | null>
}

/** Rates, charts, figures and tables of one market, over the range that the URL names. */
export function FundingMarket({ marketId, stored, summary }: FundingMarketProps) {
  const last = BigInt(latestCoverage()!.blocks.lastTimestamp)
  const shown = useShown(stored, last)
  const { range } = shown
  const funding = useFunding(marketId, stored, range)
  const { periods, estimate } = funding
  const unit = marketUnit(marketId)
  return (
    <>
      <MissingRows resource="fundingPeriods" range={range} />
      <NowSection marketId={marketId} funding={funding} range={range} summary={summary} />
      <RangeBar range={range} stored={stored} last={last} onSpan={showSpan} onRange={showRange}>
        <LiveButton follows={range.follows} rows={funding.newPoints} onFollow={() => showSpan(null)} />
      </RangeBar>
      <ChartSection marketId={marketId} stored={stored} funding={funding} shown={shown} summary={summary} />
      <PeriodsTable
        marketId={marketId}
        periods={periods}
        range={range}
        estimate={estimate.data}
        unit={unit}
      />
      <NamedPeriodPayments marketId={marketId} periods={periods.data} unit={unit} />
      <PointsTable marketId={marketId} range={range} unit={unit} version={funding.version} />
    </>
  )
}

type LiveButtonProps = { follows: boolean; rows: number; onFollow: () => void }

/** How current the data are, and whether the range follows them. */
function LiveButton({ follows, rows, onFollow }: LiveButtonProps) {
  return (
    <button
      type="button"
      class="live"
      aria-pressed={follows}
      title={follows ? 'The range follows the latest point' : 'Follow the latest point'}
      onClick={onFollow}
    >
      {!follows && <span>Follow</span>}
      <FreshnessText />
      {rows > 0 && <span class="live-count">+{groupDigits(String(rows))}</span>}
    </button>
  )
}
