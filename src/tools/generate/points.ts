import { type Context, nextTransaction } from './context.ts'
import { takePoint } from './funding.ts'
import { EXTERNAL, INTERNAL } from './funding-events.ts'
import { type Market, movePrices } from './market.ts'

/** Share of external points among all new ones: one for sixty internal ones, as on real markets. */
const EXTERNAL_SHARE = 1 / 61

/**
 * Creates the function that sends a block's new points, `points` in each block over all markets on average. Markets take
 * turns with internal points, at the block's second. External points are late, early or in time, and from time to time
 * several are sent at once.
 */
export function createPointFeed(markets: readonly Market[], points: number): (context: Context) => void {
  let due = 0
  let externalDue = 0
  let externalBatch = 1
  let internalTurn = 0
  let externalTurn = 0

  function sendInternal(context: Context): boolean {
    for (let tried = 0; tried < markets.length; tried++) {
      const market = markets[internalTurn++ % markets.length]!
      movePrices(market, context.random)
      if (takePoint(context, market, INTERNAL, context.block.second, market.markPrice)) return true
    }
    return false
  }

  function sendExternal(context: Context): void {
    const market = markets[externalTurn++ % markets.length]!
    nextTransaction(context)
    for (let i = 0; i < externalBatch; i++) {
      movePrices(market, context.random)
      const second = context.block.second + externalOffset(context, market)
      if (takePoint(context, market, EXTERNAL, second, market.spotPrice)) due -= 1
    }
    externalDue -= externalBatch
    externalBatch = context.random.onceIn(4) ? context.random.between(2, 4) : 1
  }

  return (context) => {
    due += points
    externalDue += points * EXTERNAL_SHARE
    while (externalDue >= externalBatch) sendExternal(context)
    while (due >= 1 && sendInternal(context)) due -= 1
    // Points that no market could take, because all are still in their opening auctions, are not sent later.
    if (due > 1) due %= 1
  }
}

/**
 * Seconds by which the time of an external point differs from the block's. It is early only outside auctions: if an auction
 * ended before such a point, the core's TWAP would differ from the plain formula's (docs/twap.md).
 */
function externalOffset({ random }: Context, market: Market): number {
  const choice = random.below(10)
  if (choice < 5) return -random.below(4)
  if (choice < 7 || market.auction !== null) return -random.between(5, 60)
  return random.between(1, 20)
}
