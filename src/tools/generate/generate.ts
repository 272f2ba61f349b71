import { enterOpeningAuction, runAuction } from './auction.ts'
import { writeBegin, writeCheckpoint, writeEnd } from './block-frame.ts'
import { type BlockHead, createClock, FIRST_SECOND } from './clock.ts'
import { type Context, createContext, nextTransaction } from './context.ts'
import { createDataSources } from './data-sources.ts'
import { createEpochs } from './epochs.ts'
import { endDuePeriod } from './funding.ts'
import { createAssets } from './instruments.ts'
import { createLargeBlocks } from './large-blocks.ts'
import { createLosses } from './losses.ts'
import { createMarket } from './market.ts'
import { writeAsset } from './market-events.ts'
import { type GenerateOptions, resolveOptions } from './options.ts'
import { createOrderFeed } from './orders.ts'
import { createOtherKindsFeed } from './other-kinds.ts'
import { createPointFeed } from './points.ts'
import { createProviders } from './providers.ts'
import { createRandom } from './random.ts'
import { createRecordWriter, type RecordWriter } from './record-writer.ts'
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
  const { out, blocks } = createGenerator(options)
  return (function* () {
    for (const _ of blocks) yield* out.takeFull()
    yield* out.takeAll()
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
  const { out, blocks } = createGenerator(options, startSecond)
  return (function* () {
    for (const { height, time } of blocks) yield { height, time, records: Buffer.concat(out.takeAll()) }
  })()
}

/** A stream that is being generated. */
type Generating = {
  /** Has the records of the blocks until they are taken. */
  out: RecordWriter
  /** Writes one block to `out` for each step, and yields its head. */
  blocks: Generator<BlockHead, void, undefined>
}

function createGenerator(options: GenerateOptions, startSecond?: number): Generating {
  const { blocks, parties, points, events, seed, start, chain, ...rest } = resolveOptions(options)
  const random = createRandom(seed)
  const out = createRecordWriter(chain)
  const clock = createClock(start, random, startSecond ?? FIRST_SECOND + start - 1)
  const assets = createAssets(random)
  const positionsOf = createTraders(seed)
  const nextDataSources = createDataSources(seed)
  const lossesOf = createLosses(seed)
  const markets = Array.from({ length: rest.markets }, (_, number) =>
    createMarket(
      number,
      assets,
      { positions: positionsOf(number), dataSources: nextDataSources(), lossesOf },
      random,
    ),
  )
  const providers = createProviders(markets, parties, random)
  const sendEpochs = createEpochs()
  const sendPoints = createPointFeed(markets, points)
  const sendOrders = createOrderFeed(markets, events, seed)
  const sendOtherKinds = createOtherKindsFeed(events, random, sendOrders)
  const enlarge = createLargeBlocks(events, seed, sendOrders)
  const marketDataPerBlock = Math.min(
    markets.length,
    Math.max(MARKETS_IN_EVERY_BLOCK, MARKET_DATA_RATIO * (FRAME_EVENTS + points + events)),
  )
  let marketDataDue = 0
  let marketDataTurn = 0

  function* write(): Generator<BlockHead, void, undefined> {
    let block = clock.next()
    if (start === 1) {
      // The genesis block also has height 1, but another hash.
      writeGenesis(block)
      block = clock.again()
    }
    for (let written = 0; written < blocks; written++, block = clock.next()) {
      writeBlock(block, written === 0)
      yield block
    }
  }

  /** Writes only its frame. Block 1 has the same time, by which the reference distinguishes rows of other kinds. */
  function writeGenesis(block: BlockHead): void {
    const context = createContext(out, random, block)
    writeBegin(context)
    writeEnd(context)
  }

  function writeBlock(block: BlockHead, first: boolean): void {
    const context = createContext(out, random, block)
    writeBegin(context)
    if (first) for (const asset of assets) writeAsset(context, asset)
    sendOrders(context)
    for (const market of markets) {
      if (first) enterOpeningAuction(context, market)
      else runAuction(context, market)
    }
    sendOrders(context)
    const ended = sendEpochs(context)
    if (ended === null) sendMarketData(context)
    else providers.endEpoch(context, ended)
    sendOrders(context)
    nextTransaction(context)
    sendOtherKinds(context)
    enlarge(context)
    for (const market of markets) endDuePeriod(context, market)
    sendOrders(context)
    sendPoints(context)
    sendOrders(context)
    providers.sendProvisions(context)
    if (block.height % CHECKPOINT_BLOCKS === 0) writeCheckpoint(context)
    sendOrders(context)
    writeEnd(context)
  }

  /** Sends the market data of every market while they are few; many take turns. */
  function sendMarketData(context: Context): void {
    for (marketDataDue += marketDataPerBlock; marketDataDue >= 1; marketDataDue--) {
      providers.sendMarketData(context, markets[marketDataTurn++ % markets.length]!)
    }
  }

  return { out, blocks: write() }
}
