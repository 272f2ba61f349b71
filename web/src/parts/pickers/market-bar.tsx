import type { MarketSummary } from 'lyra-client'
import type { ComponentChildren } from 'preact'
import { formatMinute } from '../../figures/format-time.ts'
import { lastHeight, latestCoverage } from '../../service/coverage.ts'
import { isOutdated } from '../../service/freshness.ts'
import { instrumentOf } from '../../service/instruments.ts'
import { lyra } from '../../service/lyra.ts'
import { type MarketStatus, marketStatusOf } from '../../service/summary.ts'
import { type Query, useQuery } from '../../service/use-query.ts'
import { CopyButton } from '../copy-button.tsx'
import { CopyLink } from '../request.tsx'
import { MarketPicker } from './market-picker.tsx'

export type MarketBarProps = {
  marketId: string | null
  /** That of the market. */
  summary: Query<MarketSummary | null>
  markets: readonly string[]
  /** Label for no market, if that is a choice. */
  none?: string
  onPick: (marketId: string | null) => void
  children?: ComponentChildren
  /** Elements beside the market's name. */
  beside?: ComponentChildren
}

/** The summary of a market, as of the last block; null data before it is known, and of one that is not known. */
export function useSummary(marketId: string | null, markets: readonly string[]): Query<MarketSummary | null> {
  const coverage = latestCoverage()
  return useQuery(
    marketId === null || coverage === null || !markets.includes(marketId) ? null : marketId,
    async (signal) =>
      (await lyra.marketSummariesPage({ marketId: marketId! }, { signal })).rows[0]?.node ?? null,
    { version: coverage === null ? '' : lastHeight(coverage) },
  )
}

/** Chooses a market, and says which it is and how it trades. */
export function MarketBar({ marketId, summary, markets, none, onPick, children, beside }: MarketBarProps) {
  const instrument = marketId === null ? null : instrumentOf(marketId)
  // Another market's state beside this one's name would be taken for its own.
  const known = summary.isOther ? null : summary.data
  const status = known === null ? null : marketStatusOf(known)
  return (
    <div class="view-bar">
      <MarketPicker
        marketId={marketId}
        markets={markets}
        {...(none !== undefined && { none })}
        onPick={onPick}
      />
      {(instrument !== null || status !== null) && (
        <span class={summary.staleSince !== null || isOutdated.value ? 'about stale' : 'about'}>
          {instrument !== null && instrument.name !== '' && <span class="about-name">{instrument.name}</span>}
          {status !== null && <MarketState status={status} />}
        </span>
      )}
      {beside}
      <span class="bar-actions">
        {marketId !== null && <CopyButton text={marketId} what="the market id" label="Copy id" />}
        {children}
        <CopyLink />
      </span>
    </div>
  )
}

/** A market's state and how it trades: `Active`, `Suspended · monitoring auction`, or `Settled since 2023-10-05 10:15`. */
export function MarketState({ status }: { status: MarketStatus }) {
  const text = describeState(status)
  const good = status.state === 'STATE_ACTIVE' && !text.includes('auction')
  const look = status.hasEnded ? 'ended' : good ? 'good' : 'other'
  return <span class={`state-chip ${look}`}>{text}</span>
}

export function describeState({ state, tradingMode, hasEnded, at }: MarketStatus): string {
  const words = (text: string, prefix: string) => text.slice(prefix.length).replaceAll('_', ' ').toLowerCase()
  const named = words(state, 'STATE_')
  const mode = words(tradingMode, 'TRADING_MODE_')
  const first = named.slice(0, 1).toUpperCase() + named.slice(1)
  if (hasEnded) return at === null ? first : `${first} since ${formatMinute(at)} UTC`
  const plain = ['continuous', 'unspecified', 'no trading'].includes(mode) || mode.startsWith(named)
  return plain ? first : `${first} · ${mode}`
}
