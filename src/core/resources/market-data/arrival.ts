import { EVENT_KIND } from '../../events/bus-event.ts'
import type { MarketDataEvent } from '../../events/event.ts'
import type { Arrival } from '../../model/arrival.ts'
import { putList } from '../../model/batch.ts'
import { decodeMarketData } from './decode.ts'

/** Market data bring a market's figures and its list of liquidity providers. */
export const marketDataArrival: Arrival<MarketDataEvent> = {
  kind: 'market-data',
  numbers: [EVENT_KIND.marketData],
  decode: ({ bytes, at, end }, leaveOut) => decodeMarketData(bytes, at, end, leaveOut),
  faultOf: () => null,
  project: (batch, event, { height, index }) => putList(batch, { event, height, index }),
}
