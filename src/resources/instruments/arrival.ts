import { bodyOf, EVENT_KIND } from '../../events/bus-event.ts'
import type { AssetEvent, InstrumentEvent } from '../../events/event.ts'
import { PRODUCTS } from '../../events/market-enums.ts'
import type { Arrival } from '../arrival.ts'
import { put } from '../batch.ts'
import { decodeAsset, decodeInstrument } from './decode.ts'

export const instrumentArrival: Arrival<InstrumentEvent> = {
  kind: 'market',
  numbers: [EVENT_KIND.marketCreated, EVENT_KIND.marketUpdated],
  lackedAs: ['instruments'],
  decode: (envelope, leaveOut) => decodeInstrument(bodyOf(envelope), leaveOut),
  /** A market's latest event describes it. */
  project: (batch, event, { height, eventIndex }) => {
    const { marketId, code, name, product, quoteName, state, tradingMode, settlementAsset, funding } = event
    put(batch, 'instruments', [
      ...[marketId, code, name, PRODUCTS.indexOf(product), quoteName, event.decimalPlaces],
      ...[event.positionDecimalPlaces, state, tradingMode, settlementAsset, funding?.interestRate ?? null],
      ...[funding?.clampLowerBound ?? null, funding?.clampUpperBound ?? null, funding?.scalingFactor ?? null],
      ...[funding?.lowerBound ?? null, funding?.upperBound ?? null, height, eventIndex],
    ])
  },
}

export const assetArrival: Arrival<AssetEvent> = {
  kind: 'asset',
  numbers: [EVENT_KIND.asset],
  lackedAs: ['instruments'],
  decode: (envelope, leaveOut) => decodeAsset(bodyOf(envelope), leaveOut),
  /** An asset's latest event describes it. */
  project: (batch, { assetId, name, symbol, decimals, status }, { height, eventIndex }) => {
    put(batch, 'assets', [assetId, name, symbol, decimals, status, height, eventIndex])
  },
}
