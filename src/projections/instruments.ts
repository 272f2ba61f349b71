import type { AssetEvent, InstrumentEvent } from '../events/event.ts'
import { type Batch, keepNewer, type StreamPlace } from './batch.ts'

/** A market's latest event describes it. */
export function projectInstrument(batch: Batch, event: InstrumentEvent, place: StreamPlace): void {
  const { kind: _, ...instrument } = event
  keepNewer(batch.instruments, event.marketId, { ...instrument, ...place })
}

/** An asset's latest event describes it. */
export function projectAsset(batch: Batch, event: AssetEvent, place: StreamPlace): void {
  const { kind: _, ...asset } = event
  keepNewer(batch.assets, event.assetId, { ...asset, ...place })
}
