import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'
import type { Market } from './market.ts'
import { createRandom } from './random.ts'

/** The ratio of cancelled and expired orders to events of other kinds: most blocks of a network have one. */
const ORDERS_RATIO = 0.1

/** The number of opportunities in a block to cancel orders, in addition to one after each event of other kinds. */
const PLACES_PER_BLOCK = 6

/** A party that cancels all its orders may have more, but a block must keep its usual size. */
const MOST_ORDERS = 40

/**
 * Creates the function that sends a market's cancelled or expired orders at one of these opportunities, if there are any.
 * Such an event takes an id for each of its orders, and none if it has no order (docs/events.md, event files).
 *
 * @param events records of other kinds in each block
 */
export function createOrderFeed(
  markets: readonly Market[],
  events: number,
  seed: number,
): (context: Context) => void {
  const random = createRandom(seed, 'orders')
  const onceIn = (events + PLACES_PER_BLOCK) / (events * ORDERS_RATIO)

  return ({ out, block }) => {
    if (events === 0 || random.below(2 ** 32) * onceIn >= 2 ** 32) return
    const { id } = markets[random.below(markets.length)]!
    // Sometimes without an order; otherwise few orders are as frequent as many.
    const orders = random.onceIn(10)
      ? []
      : Array.from({ length: random.between(1, MOST_ORDERS) }, () => random.hex())
    if (random.onceIn(6)) {
      out.writeOrders(EVENT_TYPES.expiredOrders, null, { 1: id, 2: orders }, orders.length)
      return
    }
    const transaction = Uint8Array.from(block.upperCaseHash)
    random.fillHex(transaction, true)
    const body = { 1: id, 2: random.hex(), 3: orders }
    out.writeOrders(EVENT_TYPES.cancelledOrders, transaction, body, orders.length)
  }
}
