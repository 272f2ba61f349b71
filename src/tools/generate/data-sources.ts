import { createRandom } from './random.ts'

/**
 * The data sources of a perpetual market: the ids of their specifications, and the key that signs prices; 64 hex digits
 * each.
 */
export type DataSources = { schedule: Uint8Array; settlement: Uint8Array; signer: Uint8Array }

/** Creates a function that returns the data sources of one market after another, all with the same signer. */
export function createDataSources(seed: number): () => DataSources {
  const random = createRandom(seed, 'data sources')
  const id = () => Buffer.from(random.hex(), 'latin1')
  const signer = id()
  return () => ({ schedule: id(), settlement: id(), signer })
}
