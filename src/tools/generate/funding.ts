import { forgetClosedAuctions } from '#core/funding/auctions'
import { plainMean } from '#core/funding/plain-formula'
import { carriedOver, type PricePoint } from '#core/funding/point-list'
import { RunningSum } from '#core/funding/running-sum'
import { FIRST_SECOND, fromSeconds } from './clock.ts'
import { type Context, nextTransaction } from './context.ts'
import { EXTERNAL, INTERNAL, type SentSource, writeDataPoint, writePeriod } from './funding-events.ts'
import { assetPrice, type Funding, type Market } from './market.ts'

/** Begins a market's first period, as at the end of the opening auction: the period, then the uncrossing price. */
export function openFirstPeriod(context: Context, market: Market): void {
  const funding = createFunding(context, market, 0, fromSeconds(context.block.second))
  market.funding = funding
  writePeriod(context, market, funding, { end: null, internalTwap: null, externalTwap: null })
  takePoint(context, market, INTERNAL, context.block.second, market.markPrice)
}

/**
 * Adds a point at `second` (Unix seconds) to the market, and sends it with its TWAP. Returns false and sends nothing if
 * there is no period yet, or the core would refuse the point.
 */
export function takePoint(
  context: Context,
  market: Market,
  source: SentSource,
  second: number,
  price: number,
): boolean {
  const { funding } = market
  if (funding === null) return false
  const point = { time: fromSeconds(second), price: BigInt(assetPrice(market, price)) }
  const twap = (source === EXTERNAL ? funding.external : funding.internal).add(point)
  if (twap === null) return false
  writeDataPoint(context, market, { seq: funding.seq, source, point, twap })
  return true
}

/** Ends the market's period if that is due, and begins the next one. */
export function endDuePeriod(context: Context, market: Market): void {
  const { funding } = market
  if (funding === null || context.block.second < funding.nextCue) return
  nextTransaction(context)
  const end = fromSeconds(cueSecond(context.block.second, market, funding))
  market.funding = cue(context, market, funding, end)
  // A second cue in the same second results in a period of zero length.
  if (context.random.onceIn(50)) market.funding = cue(context, market, market.funding, end)
}

/** The time of the market's latest point, which may be ahead of the block's time; Unix nanoseconds. */
export function latestPointTime({ internal, external }: Funding): bigint {
  const last = internal.points.at(-1)?.time ?? 0n
  const lastExternal = external.points.at(-1)?.time ?? 0n
  return lastExternal > last ? lastExternal : last
}

/**
 * The time of the cue: when it was due, which is the block's second or the one before. It is not before the beginning or
 * end of an auction, because the core's closing TWAP would then differ from the plain formula's (docs/twap.md).
 */
function cueSecond(second: number, { lastAuctionBoundary }: Market, { nextCue }: Funding): number {
  return nextCue >= lastAuctionBoundary ? nextCue : second
}

/**
 * Ends a period at `end`, begins the next one, and sends the points that are carried over (docs/twap.md, "A new period").
 */
function cue(context: Context, market: Market, closing: Funding, end: bigint): Funding {
  writePeriod(context, market, closing, {
    end,
    internalTwap: closing.internal.meanAt(end),
    externalTwap: closing.external.meanAt(end),
  })
  forgetClosedAuctions(market.auctions)
  const opening = createFunding(context, market, closing.seq + 1, end)
  const internal = carriedOver(closing.internal.points, end)
  const external = carriedOver(closing.external.points, end)
  writePeriod(context, market, opening, {
    end: null,
    internalTwap: plainMean(internal, opening.period, end),
    externalTwap: plainMean(external, opening.period, end),
  })
  sendCarriedOver(context, market, EXTERNAL, opening, external)
  sendCarriedOver(context, market, INTERNAL, opening, internal)
  return opening
}

function sendCarriedOver(
  context: Context,
  market: Market,
  source: SentSource,
  funding: Funding,
  points: readonly PricePoint[],
): void {
  const target = source === EXTERNAL ? funding.external : funding.internal
  for (const point of points.toReversed()) {
    const twap = target.add(point)
    if (twap !== null) writeDataPoint(context, market, { seq: funding.seq, source, point, twap })
  }
}

function createFunding(context: Context, market: Market, seq: number, start: bigint): Funding {
  const period = { start, auctions: market.auctions }
  const { paidEvery } = market.instrument
  const paidPeriods = Math.floor((context.block.second - FIRST_SECOND) / paidEvery)
  return {
    seq,
    period,
    internal: new RunningSum(period),
    external: new RunningSum(period),
    nextCue: FIRST_SECOND + (paidPeriods + 1) * paidEvery,
  }
}
