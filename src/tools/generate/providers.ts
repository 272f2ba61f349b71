import { encoded } from '#core/events/byte-writer'
import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'
import type { Market } from './market.ts'
import { writeMarketData } from './market-data.ts'
import { createProviderLists, emptyLists, type ProviderLists, refreshLists } from './provider-lists.ts'
import {
  announceProvision,
  changeProvision,
  createProvision,
  endEpoch,
  feesPaid,
  isListed,
  type Provision,
} from './provisions.ts'
import type { Random } from './random.ts'

const ANNOUNCED_PER_BLOCK = 50
const BLOCKS_PER_CHANGE = 4
const LEAST_REFRESH_BLOCKS = 10
const MOST_REFRESH_BLOCKS = 30

/** Maximum bytes of a party and an amount. */
const PARTY_AMOUNT_BYTES = 128

/** One refresh in 40 empties a market's lists, until the next one fills them. */
const EMPTY_ONCE_IN = 40

/** The liquidity providers of the network: their provisions, and their elements in the markets' data. */
export class Providers {
  readonly #provisions: Provision[] = []
  readonly #ofMarkets: ReadonlyMap<Market, Provision[]>
  readonly #listsOf: ReadonlyMap<Market, ProviderLists>
  /** The height from which a market's lists are due to change. */
  readonly #refreshAt = new Map<Market, number>()
  /** Number of provisions that have been announced. */
  #announced = 0
  /** Number of changes so far; provisions take turns. */
  #turn = 0

  /** Creates `parties` providers. Each provides to one market, some to two or three. */
  constructor(markets: readonly Market[], parties: number, random: Random) {
    const ofMarkets = new Map<Market, Provision[]>(markets.map((market) => [market, []]))
    for (let i = 0; i < parties; i++) {
      const party = Buffer.from(random.hex(), 'latin1')
      for (const market of providerMarkets(markets, i)) {
        const provision = createProvision(random, party, market, `lp-${i}`)
        this.#provisions.push(provision)
        ofMarkets.get(market)!.push(provision)
      }
    }
    this.#ofMarkets = ofMarkets
    this.#listsOf = new Map([...ofMarkets].map(([market, own]) => [market, createProviderLists(own)]))
  }

  /** Sends the provisions that begin or change in this block. */
  sendProvisions(context: Context): void {
    const provisions = this.#provisions
    if (this.#announced < provisions.length) {
      const until = Math.min(provisions.length, this.#announced + ANNOUNCED_PER_BLOCK)
      while (this.#announced < until) announceProvision(context, provisions[this.#announced++]!)
    } else if (provisions.length > 0 && context.block.height % BLOCKS_PER_CHANGE === 0) {
      changeProvision(context, provisions[this.#turn++ % provisions.length]!)
    }
  }

  /** Writes each provider's results and fees for the epoch that ends, and the market data of all markets. */
  endEpoch(context: Context, epoch: number): void {
    for (const provision of this.#provisions) endEpoch(provision, context.random)
    for (const [market, own] of this.#ofMarkets) writePaidFees(context, market, own.filter(isListed), epoch)
    for (const [market, lists] of this.#listsOf) {
      refreshLists(lists, context.random)
      writeMarketData(context, market, lists)
    }
  }

  /** Sends the market data of one market. */
  sendMarketData(context: Context, market: Market): void {
    const lists = this.#listsOf.get(market)!
    if (context.block.height >= (this.#refreshAt.get(market) ?? 0)) {
      const blocks = context.random.between(LEAST_REFRESH_BLOCKS, MOST_REFRESH_BLOCKS)
      this.#refreshAt.set(market, context.block.height + blocks)
      if (context.random.onceIn(EMPTY_ONCE_IN)) emptyLists(lists)
      else refreshLists(lists, context.random)
    }
    writeMarketData(context, market, lists)
  }
}

/** Writes a `PaidLiquidityFeesStats` event with the fees paid to a market's providers for an epoch, if there are any. */
function writePaidFees(
  { out }: Context,
  { id, instrument }: Market,
  listed: readonly Provision[],
  epoch: number,
): void {
  if (listed.length === 0) return
  const paid = listed.map((provision) => ({ party: provision.party, amount: feesPaid(provision) }))
  const total = paid.reduce((sum, { amount }) => sum + amount, 0n)
  const elements = paid.map(({ party, amount }) => ({ 1: party, 2: String(amount) }))
  const list = encoded({ 5: elements }, PARTY_AMOUNT_BYTES * elements.length)
  out.write(
    EVENT_TYPES.paidLiquidityFees,
    null,
    { 1: id, 2: instrument.asset.id, 3: epoch, 4: String(total) },
    list,
  )
}

function providerMarkets(markets: readonly Market[], party: number): Set<Market> {
  const offsets = [0]
  if (party % 3 === 0) offsets.push(1)
  if (party % 9 === 0) offsets.push(2)
  return new Set(offsets.map((offset) => markets[(party + offset) % markets.length]!))
}
