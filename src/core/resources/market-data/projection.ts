import { EVENT_KIND } from '../../events/bus-event.ts'
import type { MarketDataEvent } from '../../events/event.ts'
import type { Projection } from '../../model/projection.ts'
import { addMarketData } from './data-sequence.ts'
import { decodeMarketData } from './decode.ts'

/** Market data contain a market's figures and its list of liquidity providers. */
export const marketDataProjection: Projection<MarketDataEvent> = {
  kind: 'market-data',
  numbers: [EVENT_KIND.marketData],
  decode: ({ bytes, at, end }, leaveOut) => decodeMarketData(bytes, at, end, leaveOut),
  faultOf: () => null,
  project: (batch, event, { height, index }) => addMarketData(batch, { event, height, index }),
}
