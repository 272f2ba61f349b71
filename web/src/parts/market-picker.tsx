import { latestCoverage } from '../service/coverage.ts'
import { shortId } from './id.tsx'

/** The ids of the markets that the service holds anything of. */
export function knownMarkets(): string[] {
  const coverage = latestCoverage()
  if (coverage === null) return []
  const ids = [...coverage.fundingPeriodDataPoints, ...coverage.liquidityProviders].map(
    ({ marketId }) => marketId,
  )
  return [...new Set(ids)].sort()
}

export type MarketPickerProps = {
  /** The market chosen; null for none. */
  marketId: string | null
  markets: readonly string[]
  onPick: (marketId: string) => void
}

export function MarketPicker({ marketId, markets, onPick }: MarketPickerProps) {
  const listed = marketId === null || markets.includes(marketId) ? markets : [marketId, ...markets]
  return (
    <label class="field">
      <span class="field-label">Market</span>
      <select class="mono" value={marketId ?? ''} onChange={(event) => onPick(event.currentTarget.value)}>
        {marketId === null && <option value="">Choose a market</option>}
        {listed.map((id) => (
          <option key={id} value={id}>
            {shortId(id)}
          </option>
        ))}
      </select>
    </label>
  )
}
