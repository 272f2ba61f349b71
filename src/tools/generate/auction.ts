import { enterAuction, leaveAuction } from '#core/funding/auctions'
import { fromSeconds } from './clock.ts'
import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'
import { latestPointTime, openFirstPeriod, takePoint } from './funding.ts'
import { EXTERNAL } from './funding-events.ts'
import type { Market, MarketAuction } from './market.ts'
import { writeMarket } from './market-events.ts'

/** `AuctionTrigger`: an opening auction, or one that price monitoring has triggered. */
const TRIGGER_OPENING = 2
const TRIGGER_PRICE = 3

/** Creates a market in its opening auction, which lasts 2 to 6 seconds. */
export function enterOpeningAuction(context: Context, market: Market): void {
  market.createdAt = context.block.time
  enter(context, market, true, context.random.between(2, 6))
}

/** Ends or begins the market's auction if that is due. The end of an opening auction begins the first period. */
export function runAuction(context: Context, market: Market): void {
  if (market.auction !== null) {
    if (context.block.second >= market.auction.endSecond) leave(context, market, market.auction)
  } else if (context.block.second >= market.nextAuction) {
    enterMonitoringAuction(context, market)
  }
}

/**
 * Begins a monitoring auction, but not while there are points dated ahead of the block: if an auction begins or ends before
 * such a point, the core's TWAP differs from the plain formula's (docs/twap.md).
 */
function enterMonitoringAuction(context: Context, market: Market): void {
  const now = fromSeconds(context.block.second)
  if (market.funding === null || latestPointTime(market.funding) > now) return
  enter(context, market, false, context.random.between(5, 120))
  enterAuction(market.auctions, now)
}

function enter(context: Context, market: Market, opening: boolean, seconds: number): void {
  const { time, second } = context.block
  const auction = { opening, start: time, end: time + fromSeconds(seconds), endSecond: second + seconds }
  market.auction = auction
  market.lastAuctionBoundary = second
  writeAuction(context, market, auction, false)
  writeMarket(context, market, opening ? EVENT_TYPES.marketCreated : EVENT_TYPES.marketUpdated)
}

function leave(context: Context, market: Market, auction: MarketAuction): void {
  const { second, time } = context.block
  market.auction = null
  market.lastAuctionBoundary = second
  market.nextAuction = second + context.random.between(300, 900)
  if (auction.opening) openFirstPeriod(context, market)
  else leaveAuction(market.auctions, fromSeconds(second))
  writeAuction(context, market, { ...auction, end: time }, true)
  writeMarket(context, market, EVENT_TYPES.marketUpdated)
  if (auction.opening) takePoint(context, market, EXTERNAL, second, market.spotPrice)
  // Price monitoring may trigger another auction at once; the two then count as one.
  if (context.random.onceIn(6)) enterMonitoringAuction(context, market)
}

function writeAuction(context: Context, market: Market, auction: MarketAuction, left: boolean): void {
  context.out.write(EVENT_TYPES.auction, context.transaction, {
    1: market.id,
    2: auction.opening,
    3: left,
    4: auction.start,
    5: auction.end,
    6: auction.opening ? TRIGGER_OPENING : TRIGGER_PRICE,
  })
}
