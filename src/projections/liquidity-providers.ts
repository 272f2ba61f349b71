import type { LiquidityProvisionEvent, MarketDataEvent } from '../events/event.ts'
import { type Batch, isNotOlder, put, type StreamPlace } from './batch.ts'

/** A provision's latest status counts. */
export function projectLiquidityProvision(
  batch: Batch,
  { provisionId, marketId, partyId, status }: LiquidityProvisionEvent,
  { height, eventIndex }: StreamPlace,
): void {
  put(batch, 'liquidity_provisions', [provisionId, marketId, partyId, status, height, eventIndex])
}

/** A market's latest data count; what they replace is never looked at. */
export function projectMarketData(batch: Batch, event: MarketDataEvent, place: StreamPlace): void {
  const known = batch.liquidityProviderLists.get(event.marketId)
  if (known === undefined || isNotOlder(place, known)) {
    batch.liquidityProviderLists.set(event.marketId, {
      event,
      height: place.height,
      eventIndex: place.eventIndex,
    })
  }
}

/** One party of a market's fee-share list, as it is stored and answered. */
export type LiquidityProviderRow = {
  partyId: string
  /** The fee share as the API's JSON. */
  feeShare: string
  /** The SLA as the API's JSON; null where the market's data have none for the party. */
  sla: string | null
}

/** A market's providers, one for each party of the fee-share list, each with that party's SLA element. */
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
