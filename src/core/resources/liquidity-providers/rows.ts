import type { MarketDataEvent } from '../../events/event.ts'

/** A party of a market's fee-share list, as it is stored and served. */
export type LiquidityProviderRow = {
  partyId: string
  /** The fee share as the API's JSON. */
  feeShare: string
  /** The SLA as the API's JSON; null if the market's data have none for the party. */
  sla: string | null
}

/** A market's providers: one for each party of the fee-share list, with its element of the SLA list. */
export function liquidityProviderRows(event: MarketDataEvent): LiquidityProviderRow[] {
  const slas = new Map(event.slas.map((sla) => [sla.party, JSON.stringify(sla)]))
  const rows = new Map<string, LiquidityProviderRow>()
  for (const share of event.feeShares) {
    rows.set(share.party, {
      partyId: share.party,
      feeShare: JSON.stringify(share),
      sla: slas.get(share.party) ?? null,
    })
  }
  return [...rows.values()]
}
