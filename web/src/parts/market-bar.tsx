import type { Instrument } from 'lyra-client'
import type { ComponentChildren } from 'preact'
import { instrumentOf } from '../service/instruments.ts'
import { CopyButton } from './copy-button.tsx'
import { MarketPicker } from './market-picker.tsx'
import { CopyLink } from './request.tsx'

export type MarketBarProps = {
  marketId: string | null
  markets: readonly string[]
  /** What stands for no market, where none may be chosen. */
  none?: string
  onPick: (marketId: string | null) => void
  children?: ComponentChildren
  /** What stands beside the market's name. */
  beside?: ComponentChildren
}

/** Chooses a market, and says which it is and how it trades. */
export function MarketBar({ marketId, markets, none, onPick, children, beside }: MarketBarProps) {
  const instrument = marketId === null ? null : instrumentOf(marketId)
  return (
    <div class="view-bar">
      <MarketPicker
        marketId={marketId}
        markets={markets}
        {...(none !== undefined && { none })}
        onPick={onPick}
      />
      {instrument !== null && (
        <span class="about">
          {instrument.name !== '' && <span class="about-name">{instrument.name}</span>}
          <MarketState instrument={instrument} />
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

/** A market's state and how it trades: `Active`, or `Suspended · monitoring auction`. */
export function MarketState({ instrument }: { instrument: Instrument }) {
  const text = describeState(instrument)
  const good = instrument.state === 'STATE_ACTIVE' && !text.includes('auction')
  return <span class={`state-chip ${good ? 'good' : 'other'}`}>{text}</span>
}

export function describeState({ state, tradingMode }: Instrument): string {
  const words = (text: string, prefix: string) => text.slice(prefix.length).replaceAll('_', ' ').toLowerCase()
  const named = words(state, 'STATE_')
  const mode = words(tradingMode, 'TRADING_MODE_')
  const first = named.slice(0, 1).toUpperCase() + named.slice(1)
  const plain = ['continuous', 'unspecified', 'no trading'].includes(mode) || mode.startsWith(named)
  return plain ? first : `${first} · ${mode}`
}
