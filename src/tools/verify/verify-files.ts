import type { Logger } from 'pino'
import type { Block } from '#core/blocks/block'
import { BlockAssembler } from '#core/blocks/block-assembler'
import { getOrInsert } from '#core/domain/get-or-insert'
import { type FundingPeriodEvent, isMarketEvent } from '#core/events/event'
import type { LeftOutReason } from '#core/events/left-out'
import type { TwapMethod } from '#core/funding/market-verifier'
import { leftOutLogger } from '#core/ingest/ingest-files'
import type { EventInput } from '#core/records/event-paths'
import { type CutOffNotice, type FilesRead, readEventFiles } from '#core/records/read-records'
import { paymentRowsOf } from '#core/resources/funding-payments/projection'
import type { VerifyFilter } from './judgements.ts'
import { MarketRun } from './market-run.ts'
import { type GivenParameters, MarketParameters, type ParameterSource, withGiven } from './parameters.ts'
import { PeriodPayments } from './party-payments.ts'
import { Tally, type VerifyProgress, type VerifyReport } from './tally.ts'

export type VerifyFilesOptions = {
  input: EventInput
  method: TwapMethod
  filter: VerifyFilter
  /** Funding parameters that replace those of market events; none by default. */
  parameters?: GivenParameters
  logger: Logger
  signal: AbortSignal
  onProgress?: VerifyProgress
}

/** The results, the truncated files, and the error that stopped the reading, if any. */
type VerifyFilesResult = { report: VerifyReport; cutOff: CutOffNotice[]; failure: Error | null }

/** Reasons of left-out events on which no TWAP depends. */
const HARMLESS: readonly LeftOutReason[] = [
  'invalid market ID',
  'invalid party ID',
  'unknown provision status',
  'height of 2^63 or more',
  'unknown asset status',
]

/** Reasons of left-out market events that may have changed funding parameters. */
const OF_PARAMETERS: readonly LeftOutReason[] = [
  'invalid asset ID',
  'unknown market state',
  'unknown trading mode',
  'decimal places of 2^63 or more',
  'text of more than 1,024 characters',
]

/** Recalculates the TWAPs in event files, each from the events before it. One period of each market is in memory. */
export async function verifyFiles(options: VerifyFilesOptions): Promise<VerifyFilesResult> {
  const { input, logger, signal } = options
  const tally = new Tally(options.filter)
  const blocks = new VerifiedBlocks(options, tally)
  const logLeftOut = leftOutLogger(logger)
  const assembler = new BlockAssembler({
    coverage: null,
    onBlock: (block) => blocks.take(block),
    onLeftOut: (reason, position) => {
      blocks.leftOut(reason)
      logLeftOut(reason, position)
    },
    mayMiss: () => true,
    strict: false,
  })
  const reading: FilesRead = { bytesRead: 0, cutOff: [], sequenceBreaks: 0 }
  let failure: Error | null = null
  try {
    await readEventFiles(input.files, reading, {
      sink: (bytes, start, end, position) => assembler.accept(bytes, start, end, position),
      logger,
      signal,
      onChunk: () => options.onProgress?.(tally.report()),
    })
  } catch (error) {
    failure = error as Error
  }
  return { report: tally.report(), cutOff: reading.cutOff, failure }
}

/** Judges the events of one block after another. */
class VerifiedBlocks {
  readonly #method: TwapMethod
  /** Market ids begin with this. */
  readonly #marketPrefix: string
  readonly #tally: Tally
  readonly #runs = new Map<string, MarketRun>()
  readonly #markets = new MarketParameters()
  readonly #parametersOf: ParameterSource
  #lastHeight: bigint | null = null
  /** Whether anything of the next block is left out, such as the payment of a malformed party. */
  #leavesOut = false
  /** Whether an event of the next block is left out on which TWAPs depend. */
  #isDamaged = false
  /** Whether a left-out event of the next block may have changed funding parameters. */
  #mayMissParameters = false

  constructor({ method, filter, parameters }: VerifyFilesOptions, tally: Tally) {
    this.#method = method
    this.#marketPrefix = filter.marketId ?? ''
    this.#tally = tally
    this.#parametersOf = withGiven((marketId) => this.#markets.of(marketId), parameters ?? {})
  }

  /** Must be called for each event, or element of one, that is left out, before its block is taken. */
  leftOut(reason: LeftOutReason): void {
    this.#leavesOut = true
    if (OF_PARAMETERS.includes(reason)) this.#mayMissParameters = true
    else if (!HARMLESS.includes(reason)) this.#isDamaged = true
  }

  /** Judges the events of a block. */
  take(block: Block): void {
    const { height, isIncomplete = false } = block
    const misses = isIncomplete || this.#isDamaged
    const follows = this.#lastHeight === null || height === this.#lastHeight + 1n
    if (!follows || misses) this.#forgetAll()
    if (this.#mayMissParameters) this.#markets.forget()
    this.#lastHeight = height
    this.#takeEvents(block, misses || this.#mayMissParameters)
    this.#takePayments(block, isIncomplete || this.#leavesOut)
    // The missing events may be anywhere in the block.
    if (misses) this.#forgetAll()
    this.#leavesOut = false
    this.#isDamaged = false
    this.#mayMissParameters = false
  }

  #forgetAll(): void {
    for (const run of this.#runs.values()) run.forget()
    this.#markets.forget()
  }

  #takeEvents({ height, timestamp, events }: Block, mayHaveChanged: boolean): void {
    for (const { index, event } of events) {
      if (!isMarketEvent(event)) continue
      if ('marketId' in event && !event.marketId.startsWith(this.#marketPrefix)) continue
      const position = { height, index }
      switch (event.kind) {
        case 'market-data':
          this.#runs.get(event.marketId)?.marketDataSent(event, timestamp, position)
          break
        case 'auction':
          this.#runOf(event.marketId).auction(event)
          break
        case 'funding-period':
          if (event.end === null) this.#runOf(event.marketId).open(event, position)
          else this.#runOf(event.marketId).close(event, position)
          break
        case 'funding-period-data-point':
          this.#runOf(event.marketId).point(event, position)
          break
        case 'market':
          this.#markets.take(event, mayHaveChanged)
          break
        case 'asset':
        case 'checkpoint':
        case 'epoch':
        case 'liquidity-provision':
          break
        default:
          event satisfies never
      }
    }
  }

  /**
   * Judges the payments of parties in a block, with the losses that belong to them.
   *
   * @param mayMiss whether payments or losses of the block may be missing
   */
  #takePayments(block: Block, mayMiss: boolean): void {
    const periods = new Map<string, PeriodPayments>()
    for (const row of paymentRowsOf(block)) {
      const { market_id: marketId, seq, timestamp, height, event_index: index } = row
      if (!marketId.startsWith(this.#marketPrefix)) continue
      const start = { marketId, seq, timestamp, position: { height, index } }
      getOrInsert(periods, `${marketId} ${seq}`, () => new PeriodPayments(start)).add(row)
    }
    for (const payments of periods.values()) {
      const payment = closingPayment(block, payments.first)
      payments.judge(this.#tally, payment, mayMiss ? 'events missing' : null)
    }
  }

  #runOf(marketId: string): MarketRun {
    return getOrInsert(this.#runs, marketId, () => {
      this.#tally.markets++
      return new MarketRun({
        marketId,
        method: this.#method,
        tally: this.#tally,
        knowsMarketData: true,
        parametersOf: this.#parametersOf,
      })
    })
  }
}

/** The payment in the event that ends a period in a block; null if there is none. */
function closingPayment(
  { events }: Block,
  { marketId, seq }: { marketId: string; seq: bigint },
): string | null {
  const closing = events.findLast(
    ({ event }) =>
      isMarketEvent(event) &&
      event.kind === 'funding-period' &&
      event.marketId === marketId &&
      event.seq === seq &&
      event.end !== null,
  )
  return closing === undefined ? null : (closing.event as FundingPeriodEvent).fundingPayment
}
