import { type Auctions, noAuctions } from '#core/funding/auctions'
import { type FundingTerms, fundingTerms } from '#core/funding/payment'
import type { SourceTwap, TwapPeriod } from '#core/funding/source-twap'
import type { DataSources } from './data-sources.ts'
import { type Asset, type Instrument, nthInstrument } from './instruments.ts'
import type { LossesOf } from './losses.ts'
import type { Random } from './random.ts'
import type { TraderPosition } from './traders.ts'

/** A market's running funding period. */
export type Funding = {
  seq: number
  period: TwapPeriod
  internal: SourceTwap
  external: SourceTwap
  /** The time at which the period must end, Unix seconds. */
  nextCue: number
}

/** An auction in progress, with the times of its event in Unix nanoseconds. */
export type MarketAuction = {
  opening: boolean
  start: bigint
  end: bigint
  /** The first second in which it may end. */
  endSecond: number
}

/** A perpetual market of the generated network. */
export type Market = {
  /** Market id, 64 hex digits. */
  id: Uint8Array
  /** The mark price and the price of the underlying, in the market's own decimals. */
  markPrice: number
  spotPrice: number
  instrument: Instrument
  terms: FundingTerms
  positions: readonly TraderPosition[]
  dataSources: DataSources
  lossesOf: LossesOf
  /** The zeros that convert a price from the market's decimals to the asset's. */
  zeros: string
  /** The time of its first block, in Unix nanoseconds. */
  createdAt: bigint
  /** The auction in progress; null if there is none. */
  auction: MarketAuction | null
  /** When the next monitoring auction is due, and when the last auction began or ended, in Unix seconds. */
  nextAuction: number
  lastAuctionBoundary: number
  /** The auctions of which the perpetual was notified. */
  auctions: Auctions
  /** The running funding period; null until the opening auction has ended. */
  funding: Funding | null
}

const LEAST_PRICE = 1_000
const MOST_PRICE = 99_999_999

/** `PriceMonitoringTrigger` of every market: seconds ahead, probability, seconds of the auction. */
export const PRICE_TRIGGER = { 1: 60, 2: '0.99999', 3: 7 }

/** Combinations of `Market.TradingMode` and `Market.State`. */
const CONTINUOUS = { mode: 1, state: 5 }
const OPENING_AUCTION = { mode: 3, state: 3 }
const MONITORING_AUCTION = { mode: 4, state: 6 }

/** Creates the market with this number, from 0 on. */
export function createMarket(
  number: number,
  assets: readonly Asset[],
  parts: Pick<Market, 'positions' | 'dataSources' | 'lossesOf'>,
  random: Random,
): Market {
  const instrument = nthInstrument(number, assets)
  const price = random.between(Math.ceil(instrument.price / 2), instrument.price * 2)
  return {
    id: Buffer.from(random.hex(), 'latin1'),
    instrument,
    terms: fundingTerms(instrument.funding)!,
    ...parts,
    createdAt: 0n,
    markPrice: price,
    spotPrice: price,
    zeros: '0'.repeat(instrument.asset.decimals - instrument.decimals),
    auction: null,
    nextAuction: 0,
    lastAuctionBoundary: 0,
    auctions: noAuctions(),
    funding: null,
  }
}

/** The numbers of the market's trading mode and state. */
export function tradingOf({ auction }: Market): { mode: number; state: number } {
  if (auction === null) return CONTINUOUS
  return auction.opening ? OPENING_AUCTION : MONITORING_AUCTION
}

/** Moves both prices by up to a thousandth, and the mark price a little towards that of the underlying. */
export function movePrices(market: Market, random: Random): void {
  market.spotPrice = moved(market.spotPrice, random)
  const pull = Math.trunc((market.spotPrice - market.markPrice) / 16)
  market.markPrice = moved(market.markPrice + pull, random)
}

function moved(price: number, random: Random): number {
  const step = Math.ceil(price / 1_000)
  return Math.min(MOST_PRICE, Math.max(LEAST_PRICE, price + random.between(-step, step)))
}

/** A price in the asset's decimals, as in data points. */
export function assetPrice(market: Market, price: number): string {
  return `${price}${market.zeros}`
}
