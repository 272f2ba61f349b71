import { type Auctions, noAuctions } from '../funding/auctions.ts'
import type { Period, SourceTwap } from '../funding/source-twap.ts'
import type { Random } from './random.ts'

/** A market's running funding period. */
export type Funding = {
  seq: number
  period: Period
  internal: SourceTwap
  external: SourceTwap
  /** When the period is to end, in Unix seconds. */
  nextCue: number
}

/** An auction in progress: times in Unix nanoseconds, as the event has them. */
export type MarketAuction = {
  opening: boolean
  start: bigint
  end: bigint
  /** The second from which on it may end. */
  endSecond: number
}

/** A perpetual market of the generated network. */
export type Market = {
  /** Market id, 64 hex digits. */
  id: Uint8Array
  /** Mark price and price of the underlying, in the market's own decimals. */
  markPrice: number
  spotPrice: number
  /** What a price in the market's decimals lacks to one in the asset's. */
  zeros: string
  /** The auction in progress, or null. */
  auction: MarketAuction | null
  /** When the next monitoring auction is due, and when the last auction began or ended, in Unix seconds. */
  nextAuction: number
  lastAuctionBoundary: number
  /** The auctions that the perpetual was notified of. */
  auctions: Auctions
  /** The running funding period; null until the opening auction has ended. */
  funding: Funding | null
}

const LEAST_PRICE = 1_000
const MOST_PRICE = 99_999_999

export function createMarket(random: Random): Market {
  const price = random.between(10 * LEAST_PRICE, MOST_PRICE / 10)
  return {
    id: Buffer.from(random.hex(), 'latin1'),
    markPrice: price,
    spotPrice: price,
    zeros: '0'.repeat(random.below(12)),
    auction: null,
    nextAuction: 0,
    lastAuctionBoundary: 0,
    auctions: noAuctions(),
    funding: null,
  }
}

/** Moves both prices by up to a thousandth, and the mark price a little towards the underlying's. */
export function movePrices(market: Market, random: Random): void {
  market.spotPrice = moved(market.spotPrice, random)
  const pull = Math.trunc((market.spotPrice - market.markPrice) / 16)
  market.markPrice = moved(market.markPrice + pull, random)
}

function moved(price: number, random: Random): number {
  const step = Math.ceil(price / 1_000)
  return Math.min(MOST_PRICE, Math.max(LEAST_PRICE, price + random.between(-step, step)))
}

/** A price in the asset's decimals, as data points have it. */
export function assetPrice(market: Market, price: number): string {
  return `${price}${market.zeros}`
}
