import type { Message } from '#core/events/byte-writer'
import { estimateFromTwaps } from '#core/funding/estimate'
import { fromSeconds } from './clock.ts'
import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'
import { type Funding, type Market, PRICE_TRIGGER, tradingOf } from './market.ts'
import type { ProviderLists } from './provider-lists.ts'

/** Writes a market's `MarketData`, with the fields of a perpetual market. */
export function writeMarketData(context: Context, market: Market, lists: ProviderLists): void {
  const { out, block, random } = context
  const { auction, markPrice } = market
  const spread = Math.ceil(markPrice / 500)
  const bid = String(markPrice - spread)
  const offer = String(markPrice + spread)
  const mark = String(markPrice)
  const { mode, state } = tradingOf(market)
  const beforeShares = {
    1: mark,
    2: bid,
    3: random.between(1, 500),
    4: offer,
    5: random.between(1, 500),
    6: bid,
    7: random.between(1, 500),
    8: offer,
    9: random.between(1, 500),
    10: mark,
    11: mark,
    12: market.id,
    13: block.time,
    14: random.between(1, 100_000),
    15: auction === null ? null : auction.end,
    16: auction === null ? null : auction.start,
    17: auction === null ? '0' : mark,
    19: mode,
    22: lists.supplied,
    23: lists.supplied,
    24: priceBounds(market),
    25: '0',
  }
  const beforeSlas = {
    27: state,
    28: block.time + fromSeconds(1),
    29: mark,
    30: '0',
    31: market.funding === null ? null : productData(context, market, market.funding),
  }
  out.write(EVENT_TYPES.marketData, null, beforeShares, lists.feeShares, beforeSlas, lists.slas, { 34: 3 })
}

/** `PriceMonitoringBounds`: the prices that would trigger an auction. */
function priceBounds({ markPrice }: Market): Message {
  return {
    1: String(markPrice - Math.ceil(markPrice / 20)),
    2: String(markPrice + Math.ceil(markPrice / 20)),
    3: PRICE_TRIGGER,
    4: String(markPrice),
    5: true,
  }
}

/** `ProductData` of a perpetual: the period so far, as if it ended at the block's second. */
function productData({ block }: Context, market: Market, funding: Funding): Message {
  const now = fromSeconds(block.second)
  const { seq, period } = funding
  const internalTwap = funding.internal.meanAt(now)
  const externalTwap = funding.external.meanAt(now)
  const running = { ...period, seq: BigInt(seq) }
  const estimate = estimateFromTwaps(running, { internalTwap, externalTwap }, now, market.terms)
  return {
    31: {
      1: estimate?.fundingPayment ?? null,
      2: estimate?.fundingRate ?? null,
      3: internalTwap?.toString() ?? null,
      4: externalTwap?.toString() ?? null,
      5: seq,
      6: period.start,
      7: String(market.markPrice),
      8: block.time + fromSeconds(1),
      9: 3,
      10: String(market.spotPrice),
    },
  }
}
