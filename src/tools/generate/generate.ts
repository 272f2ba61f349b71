import { enterOpeningAuction, runAuction } from './auction.ts'
import { writeBegin, writeCheckpoint, writeEnd } from './block-frame.ts'
import { type BlockHead, type Clock, createClock, FIRST_SECOND } from './clock.ts'
import { type Context, createContext, nextTransaction } from './context.ts'
import { createDataSources } from './data-sources.ts'
import { createEpochs } from './epochs.ts'
import { endDuePeriod } from './funding.ts'
import { type Asset, createAssets } from './instruments.ts'
import { createLargeBlocks } from './large-blocks.ts'
import { createLosses } from './losses.ts'
import { createMarket, type Market } from './market.ts'
import { writeAsset } from './market-events.ts'
import { type GenerateOptions, resolveOptions } from './options.ts'
import { createOrderFeed } from './orders.ts'
import { createOtherKindsFeed } from './other-kinds.ts'
import { createPointFeed } from './points.ts'
import { Providers } from './providers.ts'
import { createRandom, type Random } from './random.ts'
import { RecordWriter } from './record-writer.ts'
import type { SentBlock } from './sent-blocks.ts'
import { createTraders } from './traders.ts'

const CHECKPOINT_BLOCKS = 25

/** The ratio of market data to other events, so that they are 16 % of all. */
const MARKET_DATA_RATIO = 0.16 / 0.84

/** Up to this many markets have market data in every block, whatever their share. */
const MARKETS_IN_EVERY_BLOCK = 3

/** Events of every block: begin, time, end. */
const FRAME_EVENTS = 3

/**
 * Generates a valid event stream (docs/events.md) as chunks of about 256 KB with whole records. The same options result in
 * the same bytes on every machine. Memory does not grow with the number of blocks.
 *
 * @throws {GenerateOptionError} at once, for an option that is out of range.
 */
export function generateRecords(options: GenerateOptions): Generator<Uint8Array, void, undefined> {
  const stream = new GeneratedStream(options)
  return (function* () {
    for (const _ of stream.blocks()) yield* stream.out.takeFull()
    yield* stream.out.takeAll()
  })()
}

/**
 * Generates the same records block by block; records before the first block belong to it. Block times are after
 * `startSecond` (Unix seconds), by default the beginning of 2024 plus a time proportional to the height.
 */
export function generateBlocks(
  options: GenerateOptions,
  startSecond?: number,
): Generator<SentBlock, void, undefined> {
  const stream = new GeneratedStream(options, startSecond)
  return (function* () {
    for (const { height, time } of stream.blocks()) {
      yield { height, time, records: Buffer.concat(stream.out.takeAll()) }
    }
  })()
}

/** Writes events of a block. */
type WriteEvents = (context: Context) => void

/** A stream that is being generated. */
class GeneratedStream {
  /** Has the records of the blocks until they are taken. */
  readonly out: RecordWriter
  readonly #start: number
  readonly #blockCount: number
  readonly #random: Random
  readonly #clock: Clock
  readonly #assets: readonly Asset[]
  readonly #markets: readonly Market[]
  readonly #providers: Providers
  readonly #sendEpochs: (context: Context) => number | null
  readonly #sendPoints: WriteEvents
  readonly #sendOrders: WriteEvents
  readonly #sendOtherKinds: WriteEvents
  readonly #enlarge: WriteEvents
  readonly #marketDataPerBlock: number
  #marketDataDue = 0
  /** Number of market data sent so far; markets take turns. */
  #marketDataTurn = 0

  /**
   * The parts take their random numbers in the order of their creation: another order would be another stream.
   *
   * @throws {GenerateOptionError} for an option that is out of range.
   */
  constructor(options: GenerateOptions, startSecond?: number) {
    const { blocks, markets, parties, points, events, seed, start, chain } = resolveOptions(options)
    const random = createRandom(seed)
    this.out = new RecordWriter(chain)
    this.#start = start
    this.#blockCount = blocks
    this.#random = random
    this.#clock = createClock(start, random, startSecond ?? FIRST_SECOND + start - 1)
    this.#assets = createAssets(random)
    this.#markets = createMarkets(markets, this.#assets, seed, random)
    this.#providers = new Providers(this.#markets, parties, random)
    this.#sendEpochs = createEpochs()
    this.#sendPoints = createPointFeed(this.#markets, points)
    this.#sendOrders = createOrderFeed(this.#markets, events, seed)
    this.#sendOtherKinds = createOtherKindsFeed(events, random, this.#sendOrders)
    this.#enlarge = createLargeBlocks(events, seed, this.#sendOrders)
    this.#marketDataPerBlock = Math.min(
      markets,
      Math.max(MARKETS_IN_EVERY_BLOCK, MARKET_DATA_RATIO * (FRAME_EVENTS + points + events)),
    )
  }

  /** Writes one block to `out` for each step, and yields its head. To be called once. */
  *blocks(): Generator<BlockHead, void, undefined> {
    let block = this.#clock.next()
    if (this.#start === 1) {
      // The genesis block also has height 1, but another hash.
      this.#writeGenesis(block)
      block = this.#clock.again()
    }
    for (let written = 0; written < this.#blockCount; written++, block = this.#clock.next()) {
      this.#writeBlock(block, written === 0)
      yield block
    }
  }

  /** Writes only its frame. Block 1 has the same time, by which the reference distinguishes rows of other kinds. */
  #writeGenesis(block: BlockHead): void {
    const context = createContext(this.out, this.#random, block)
    writeBegin(context)
    writeEnd(context)
  }

  #writeBlock(block: BlockHead, isFirst: boolean): void {
    const context = createContext(this.out, this.#random, block)
    writeBegin(context)
    if (isFirst) for (const asset of this.#assets) writeAsset(context, asset)
    this.#sendOrders(context)
    for (const market of this.#markets) {
      if (isFirst) enterOpeningAuction(context, market)
      else runAuction(context, market)
    }
    this.#sendOrders(context)
    const ended = this.#sendEpochs(context)
    if (ended === null) this.#sendMarketData(context)
    else this.#providers.endEpoch(context, ended)
    this.#sendOrders(context)
    nextTransaction(context)
    this.#sendOtherKinds(context)
    this.#enlarge(context)
    for (const market of this.#markets) endDuePeriod(context, market)
    this.#sendOrders(context)
    this.#sendPoints(context)
    this.#sendOrders(context)
    this.#providers.sendProvisions(context)
    if (block.height % CHECKPOINT_BLOCKS === 0) writeCheckpoint(context)
    this.#sendOrders(context)
    writeEnd(context)
  }

  /** Sends the market data of every market while they are few; many take turns. */
  #sendMarketData(context: Context): void {
    const markets = this.#markets
    for (this.#marketDataDue += this.#marketDataPerBlock; this.#marketDataDue >= 1; this.#marketDataDue--) {
      this.#providers.sendMarketData(context, markets[this.#marketDataTurn++ % markets.length]!)
    }
  }
}

function createMarkets(count: number, assets: readonly Asset[], seed: number, random: Random): Market[] {
  const positionsOf = createTraders(seed)
  const nextDataSources = createDataSources(seed)
  const lossesOf = createLosses(seed)
  return Array.from({ length: count }, (_, number) => {
    const traders = { positions: positionsOf(number), dataSources: nextDataSources(), lossesOf }
    return createMarket(number, assets, traders, random)
  })
}
