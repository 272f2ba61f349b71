import { isBefore } from '../../domain/place.ts'
import { EVENT_KIND } from '../../events/bus-event.ts'
import type { MarketDataEvent } from '../../events/event.ts'
import type { Arrival } from '../arrival.ts'
import { decodeMarketData } from './decode.ts'

/** Market data bring a market's figures and its list of liquidity providers. */
export const marketDataArrival: Arrival<MarketDataEvent> = {
  kind: 'market-data',
  numbers: [EVENT_KIND.marketData],
  decode: ({ bytes, at, end }, leaveOut) => decodeMarketData(bytes, at, end, leaveOut),
  faultOf: () => null,
  /** Only a market's latest data are kept. */
  project: (batch, event, place) => {
    const known = batch.liquidityProviderLists.get(event.marketId)
    if (known === undefined || !isBefore(place, known)) {
      batch.liquidityProviderLists.set(event.marketId, {
        event,
        height: place.height,
        index: place.index,
      })
    }
  },
}
