import { EVENT_KIND } from '../events/bus-event.ts'
import type { MarketEvent } from '../events/event.ts'

/** The kinds of event that a resource is made from, as they are numbered and as they are decoded. */
const EVENTS: Record<string, readonly [number, MarketEvent['kind']][]> = {
  checkpoints: [[EVENT_KIND.checkpoint, 'checkpoint']],
  fundingPeriodDataPoints: [[EVENT_KIND.fundingPeriodDataPoint, 'funding-period-data-point']],
  fundingPeriods: [[EVENT_KIND.fundingPeriod, 'funding-period']],
  liquidityProviders: [
    [EVENT_KIND.marketData, 'market-data'],
    [EVENT_KIND.liquidityProvision, 'liquidity-provision'],
  ],
  // A store that came from version 0.1.0 does not know from which events periods have their starts: the same blocks tell.
  marketData: [
    [EVENT_KIND.marketData, 'market-data'],
    [EVENT_KIND.fundingPeriod, 'funding-period'],
  ],
  instruments: [
    [EVENT_KIND.marketCreated, 'market'],
    [EVENT_KIND.marketUpdated, 'market'],
    [EVENT_KIND.asset, 'asset'],
  ],
}

/** The kinds of event, by number, that resources are made from which blocks that are held may lack. */
export function kindsOf(resources: readonly string[]): ReadonlySet<number> {
  return new Set(resources.flatMap((name) => EVENTS[name]!.map(([number]) => number)))
}

/** As {@link kindsOf}, of decoded events. */
export function eventKindsOf(resources: readonly string[]): ReadonlySet<MarketEvent['kind']> {
  return new Set(resources.flatMap((name) => EVENTS[name]!.map(([, kind]) => kind)))
}
