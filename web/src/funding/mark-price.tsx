import type { MarketSummary } from 'lyra-client'
import { markUnit } from '../figures/amount.ts'
import { formatSecond } from '../figures/format-time.ts'
import { Amount } from '../parts/values/amount.tsx'
import { isOutdated } from '../service/freshness.ts'
import type { Query } from '../service/use-query.ts'

/** The market's latest mark price; nothing if it has none, or its decimals are not known. */
export function MarkPrice({ query }: { query: Query<MarketSummary | null> }) {
  const summary = query.isOther ? null : query.data
  const unit = markUnit(summary?.instrument ?? null)
  const data = summary?.marketData ?? null
  if (unit === null || data === null || /^0*$/.test(data.markPrice)) return null
  return (
    <span
      class={isOutdated.value || query.staleSince !== null ? 'mark-price stale' : 'mark-price'}
      title={`At ${formatSecond(data.timestamp)} UTC. It values positions. The internal price, which funding uses, is the same or the market's internal composite price.`}
    >
      Mark price <Amount text={data.markPrice} unit={unit} name="mark-price" />
    </span>
  )
}
