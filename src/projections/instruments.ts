import type { AssetEvent, InstrumentEvent } from '../events/event.ts'
import { PRODUCTS } from '../resources/instruments.ts'
import { type Batch, put, type StreamPlace } from './batch.ts'

/** A market's latest event describes it. */
export function projectInstrument(
  batch: Batch,
  event: InstrumentEvent,
  { height, eventIndex }: StreamPlace,
): void {
  const { marketId, code, name, product, quoteName, state, tradingMode, settlementAsset, funding } = event
  put(batch, 'instruments', [
    ...[marketId, code, name, PRODUCTS.indexOf(product), quoteName, event.decimalPlaces],
    ...[event.positionDecimalPlaces, state, tradingMode, settlementAsset, funding?.interestRate ?? null],
    ...[funding?.clampLowerBound ?? null, funding?.clampUpperBound ?? null, funding?.scalingFactor ?? null],
    ...[funding?.lowerBound ?? null, funding?.upperBound ?? null, height, eventIndex],
  ])
}

/** An asset's latest event describes it. */
export function projectAsset(
  batch: Batch,
  { assetId, name, symbol, decimals, status }: AssetEvent,
  { height, eventIndex }: StreamPlace,
): void {
  put(batch, 'assets', [assetId, name, symbol, decimals, status, height, eventIndex])
}
