import { type Context, createContext } from './context.ts'
import { createOtherKinds } from './other-kinds.ts'
import { createRandom } from './random.ts'

/** Blocks from one large block to the next, at least and at most. */
const LEAST_BLOCKS = 200
const MOST_BLOCKS = 600

/** A large block has as many events more as so many others, at least and at most. */
const LEAST_TIMES = 200
const MOST_TIMES = 1_000

/** About 6 MB of records, whatever `events` is. */
const MOST_EVENTS = 20_000

/**
 * Creates the function that makes a block large now and then, as when a market closes: thousands of events of other kinds.
 *
 * @param events records of other kinds per block
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
    // A context of its own: the block's later events stay as they are.
    const context = createContext(out, random, block)
    const count = Math.min(MOST_EVENTS, Math.round(events * random.between(LEAST_TIMES, MOST_TIMES)))
    for (let sent = 0; sent < count; sent++) {
      send(context)
      afterEach(context)
    }
  }
}
