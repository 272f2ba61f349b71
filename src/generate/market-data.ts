import { estimateFromTwaps } from '../funding/estimate.ts'
import { nanoseconds } from './clock.ts'
import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'
import { type Funding, type Market, tradingOf } from './market.ts'
import type { ProviderLists } from './provider-lists.ts'

/** Writes a market's `MarketData`, its fields filled as those of a perpetual market are. */
export function writeMarketData(context: Context, market: Market, lists: ProviderLists): void {
  const { out, block, random } = context
  const { body } = out
  const { auction, markPrice } = market
  const spread = Math.ceil(markPrice / 500)
  const bid = String(markPrice - spread)
  const offer = String(markPrice + spread)
  const mark = String(markPrice)
  const { mode, state } = tradingOf(market)
  out.begin(EVENT_TYPES.marketData, null, lists.feeShares.length + lists.slas.length)
  body.text(1, mark)
  body.text(2, bid)
  body.uint(3, random.between(1, 500))
  body.text(4, offer)
  body.uint(5, random.between(1, 500))
  body.text(6, bid)
  body.uint(7, random.between(1, 500))
  body.text(8, offer)
  body.uint(9, random.between(1, 500))
  body.text(10, mark)
  body.text(11, mark)
  body.content(12, market.id)
  body.int64(13, block.time)
  body.uint(14, random.between(1, 100_000))
  if (auction !== null) {
    body.int64(15, auction.end)
    body.int64(16, auction.start)
  }
  body.text(17, auction === null ? '0' : mark)
  body.uint(19, mode)
  body.text(22, lists.supplied)
  body.text(23, lists.supplied)
  writePriceBounds(context, market)
  body.text(25, '0')
  body.raw(lists.feeShares)
  body.uint(27, state)
  body.int64(28, block.time + nanoseconds(1))
  body.text(29, mark)
  body.text(30, '0')
  if (market.funding !== null) writeProductData(context, market, market.funding)
  body.raw(lists.slas)
  body.uint(34, 3)
  out.end()
}

/** `PriceMonitoringBounds`: the prices that would call for an auction. */
function writePriceBounds({ out: { body } }: Context, { markPrice }: Market): void {
  const bounds = body.open(24)
  body.text(1, String(markPrice - Math.ceil(markPrice / 20)))
  body.text(2, String(markPrice + Math.ceil(markPrice / 20)))
  const trigger = body.open(3)
  body.uint(1, 60)
  body.text(2, '0.99999')
  body.uint(3, 7)
  body.close(trigger)
  body.text(4, String(markPrice))
  body.bool(5, true)
  body.close(bounds)
}

/** `ProductData` of a perpetual: the period so far, as if it ended at the block's second. */
function writeProductData({ out: { body }, block }: Context, market: Market, funding: Funding): void {
  const now = nanoseconds(block.second)
  const { seq, period } = funding
  const internalTwap = funding.internal.meanAt(now)
  const externalTwap = funding.external.meanAt(now)
  const running = { ...period, seq: BigInt(seq) }
  const estimate = estimateFromTwaps(running, { internalTwap, externalTwap }, now, market.terms)
  const product = body.open(31)
  const perpetual = body.open(31)
  body.text(1, estimate?.fundingPayment ?? '')
  body.text(2, estimate?.fundingRate ?? '')
  body.text(3, internalTwap?.toString() ?? '')
  body.text(4, externalTwap?.toString() ?? '')
  body.uint(5, seq)
  body.int64(6, period.start)
  body.text(7, String(market.markPrice))
  body.int64(8, block.time + nanoseconds(1))
  body.uint(9, 3)
  body.text(10, String(market.spotPrice))
  body.close(perpetual)
  body.close(product)
}
