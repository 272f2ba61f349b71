import { type Context, createContext } from './context.ts'
import { createOtherKinds } from './other-kinds.ts'
import { createRandom } from './random.ts'

/** The minimum and maximum number of blocks from one large block to the next. */
const LEAST_BLOCKS = 200
const MOST_BLOCKS = 600

/** The minimum and maximum number of additional events of a large block, as a multiple of those of other blocks. */
const LEAST_TIMES = 200
const MOST_TIMES = 1_000

/** About 6 MB of records, whatever `events` is. */
const MOST_EVENTS = 20_000

/**
 * Creates the function that makes a block large from time to time, with thousands of events of other kinds, as when a
 * market closes.
 *
 * @param events records of other kinds in each block
 * @param afterEach called after each of them
 */
export function createLargeBlocks(
  events: number,
  seed: number,
  afterEach: (context: Context) => void,
): (context: Context) => void {
  const random = createRandom(seed, 'large blocks')
  const send = createOtherKinds(random)
  let blocks = random.between(LEAST_BLOCKS, MOST_BLOCKS)

  return ({ out, block }) => {
    if (--blocks > 0) return
    blocks = random.between(LEAST_BLOCKS, MOST_BLOCKS)
    // With a context of its own, so that later events of the block do not change.
    const context = createContext(out, random, block)
    const count = Math.min(MOST_EVENTS, Math.round(events * random.between(LEAST_TIMES, MOST_TIMES)))
    for (let sent = 0; sent < count; sent++) {
      send(context)
      afterEach(context)
    }
  }
}
