import { createRandom } from './random.ts'

/** A trader's constant position in a market, in whole units; negative for a short one. */
export type TraderPosition = { party: Uint8Array; units: number }

const TRADERS = 8

/** Whole units of the traders of a market, in turn; their sum is zero. */
const POSITIONS = [5, -3, 12, -4, -10]

/**
 * Creates the function that returns for each market, by its number from 0 on, some of the network's traders with their
 * positions.
 */
export function createTraders(seed: number): (market: number) => readonly TraderPosition[] {
  // With random numbers of its own, so that the rest of a stream does not depend on the traders.
  const random = createRandom(seed)
  const parties = Array.from({ length: TRADERS }, () => Buffer.from(random.hex(), 'latin1'))
  return (market) => POSITIONS.map((units, at) => ({ party: parties[(market + at) % TRADERS]!, units }))
}
