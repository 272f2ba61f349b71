import { createRandom } from './random.ts'

/** A trader's constant position in a market, in whole units; negative if short. */
export type TraderPosition = { party: Uint8Array; units: number }

const TRADERS = 8

/** Whole units that traders of a market hold one after another: they add up to zero. */
const POSITIONS = [5, -3, 12, -4, -10]

/** Gives each market, by its number from 0 on, some of the network's traders with their positions. */
export function createTraders(seed: number): (market: number) => readonly TraderPosition[] {
  // Numbers of its own: the rest of a stream does not depend on its traders.
  const random = createRandom(seed)
  const parties = Array.from({ length: TRADERS }, () => Buffer.from(random.hex(), 'latin1'))
  return (market) => POSITIONS.map((units, at) => ({ party: parties[(market + at) % TRADERS]!, units }))
}
