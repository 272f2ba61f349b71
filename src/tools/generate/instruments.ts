import type { FundingParameters } from '#core/events/event'
import { FIRST_SECOND } from './clock.ts'
import type { Random } from './random.ts'

/** A settlement asset. */
export type Asset = { id: Uint8Array; symbol: string; name: string; decimals: number }

/** The name and terms of a market. */
export type Instrument = {
  code: string
  name: string
  /** The symbol of the coin whose price the market follows. */
  coin: string
  /** Decimals of prices. */
  decimals: number
  /** A typical price, in these decimals. */
  price: number
  asset: Asset
  funding: FundingParameters
  /** Seconds between two payments, counted from {@link FIRST_SECOND}. */
  paidEvery: number
}

const COINS = [
  { symbol: 'BTC', name: 'Bitcoin', decimals: 1, price: 642_500 },
  { symbol: 'ETH', name: 'Ether', decimals: 2, price: 345_000 },
  { symbol: 'SOL', name: 'Solana', decimals: 3, price: 145_200 },
  { symbol: 'LDO', name: 'Lido DAO', decimals: 4, price: 19_400 },
  { symbol: 'SNX', name: 'Synthetix', decimals: 4, price: 28_700 },
] as const

/** Used in turn: the terms of a common market, of one with a scaling factor, and of one whose rates have bounds. */
const TERMS = [
  { interestRate: '0.1095', clamp: '0.0001', scalingFactor: null, bound: null, paidEvery: 300 },
  { interestRate: '0.05', clamp: '0.01', scalingFactor: '0.5', bound: null, paidEvery: 240 },
  { interestRate: '0', clamp: '0', scalingFactor: null, bound: '0.0005', paidEvery: 480 },
] as const

/** Creates the assets of the network. */
export function createAssets(random: Random): Asset[] {
  const id = () => Buffer.from(random.hex(), 'latin1')
  return [
    { id: id(), symbol: 'USDT', name: 'Tether USD', decimals: 6 },
    { id: id(), symbol: 'USDC', name: 'USD Coin', decimals: 6 },
    { id: id(), symbol: 'DAI', name: 'Dai Stablecoin', decimals: 18 },
  ]
}

/** The instrument of the market with this number, from 0 on. */
export function nthInstrument(number: number, assets: readonly Asset[]): Instrument {
  const coin = COINS[number % COINS.length]!
  const asset = assets[number % assets.length]!
  const { interestRate, clamp, scalingFactor, bound, paidEvery } = TERMS[number % TERMS.length]!
  const series = number < COINS.length ? '' : ` ${Math.floor(number / COINS.length) + 1}`
  return {
    code: `${coin.symbol}/${asset.symbol}-PERP${series}`,
    name: `${coin.name} perpetual${series}`,
    coin: coin.symbol,
    decimals: coin.decimals,
    price: coin.price,
    asset,
    funding: {
      interestRate,
      clampLowerBound: clamp === '0' ? clamp : `-${clamp}`,
      clampUpperBound: clamp,
      scalingFactor,
      lowerBound: bound === null ? null : `-${bound}`,
      upperBound: bound,
    },
    paidEvery,
  }
}
