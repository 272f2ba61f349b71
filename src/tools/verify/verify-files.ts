import type { Logger } from 'pino'
import type { Block } from '#core/blocks/block'
import { BlockAssembler } from '#core/blocks/block-assembler'
import { getOrInsert } from '#core/domain/get-or-insert'
import type { FundingPeriodEvent } from '#core/events/event'
import type { LeftOutReason } from '#core/events/left-out'
import type { TwapMethod } from '#core/funding/market-verifier'
import { leftOutLogger } from '#core/ingest/ingest-files'
import type { EventInput } from '#core/records/event-paths'
import { type CutOffNotice, type FilesRead, readEventFiles } from '#core/records/read-records'
import { paymentRowsOf } from '#core/resources/funding-payments/projection'
import type { VerifyFilter } from './judgements.ts'
import { MarketRun } from './market-run.ts'
import { type GivenParameters, MarketParameters, withGiven } from './parameters.ts'
import { PeriodPayments } from './party-payments.ts'
import { Tally, type VerifyProgress, type VerifyReport } from './tally.ts'

export type VerifyFilesOptions = {
  input: EventInput
  method: TwapMethod
  filter: VerifyFilter
  /** Funding parameters that replace those of market events; none by default. */
  parameters?: GivenParameters
  log: Logger
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
  const { input, method, filter, log, signal } = options
  const tally = new Tally(filter)
  const runs = new Map<string, MarketRun>()
  const markets = new MarketParameters()
  const parametersOf = withGiven((marketId) => markets.of(marketId), options.parameters ?? {})
  let lastHeight: bigint | null = null
  let isDamaged = false
  /** Whether a left-out event of the block may have changed funding parameters. */
  let mayMissParameters = false

  const runOf = (marketId: string) =>
    getOrInsert(runs, marketId, () => {
      tally.markets++
      return new MarketRun({ marketId, method, tally, knowsMarketData: true, parametersOf })
    })

  function forgetAll(): void {
    for (const run of runs.values()) run.forget()
    markets.forget()
  }

  function takeBlock(block: Block): void {
    const { height } = block
    const { isIncomplete = false } = block
    if ((lastHeight !== null && height !== lastHeight + 1n) || isIncomplete || isDamaged) forgetAll()
    if (mayMissParameters) markets.forget()
    lastHeight = height
    takeEvents(block, isIncomplete || isDamaged || mayMissParameters)
    takePayments(block, isIncomplete || isDamaged)
    // The missing events may be anywhere in the block.
    if (isIncomplete || isDamaged) forgetAll()
    isDamaged = false
    mayMissParameters = false
  }

  /** Judges the payments of parties in a block, with the losses that belong to them. */
  function takePayments(block: Block, isDoubted: boolean): void {
    const periods = new Map<string, PeriodPayments>()
    for (const row of paymentRowsOf(block)) {
      const { market_id: marketId, seq, timestamp, height, event_index: index } = row
      if (!marketId.startsWith(filter.marketId ?? '')) continue
      const start = { marketId, seq, timestamp, position: { height, index } }
      getOrInsert(periods, `${marketId} ${seq}`, () => new PeriodPayments(start)).add(row)
    }
    for (const payments of periods.values()) {
      const { marketId, seq } = payments.first
      const closing = block.events.findLast(
        ({ event }) =>
          event.kind === 'funding-period' &&
          event.marketId === marketId &&
          event.seq === seq &&
          event.end !== null,
      )
      const { fundingPayment: payment } = (closing?.event ?? { fundingPayment: null }) as FundingPeriodEvent
      payments.judge(tally, payment, isDoubted ? 'events missing' : null)
    }
  }

  function takeEvents({ height, timestamp, events }: Block, mayHaveChanged: boolean): void {
    for (const { index, event } of events) {
      if ('marketId' in event && !event.marketId.startsWith(filter.marketId ?? '')) continue
      const position = { height, index }
      switch (event.kind) {
        case 'market-data':
          runs.get(event.marketId)?.marketDataSent(event, timestamp, position)
          break
        case 'auction':
          runOf(event.marketId).auction(event)
          break
        case 'funding-period':
          if (event.end === null) runOf(event.marketId).open(event, position)
          else runOf(event.marketId).close(event, position)
          break
        case 'funding-period-data-point':
          runOf(event.marketId).point(event, position)
          break
        case 'market':
          markets.take(event, mayHaveChanged)
          break
        case 'asset':
        case 'checkpoint':
        case 'liquidity-provision':
          break
        default:
          event satisfies never
      }
    }
  }

  const logLeftOut = leftOutLogger(log)
  const assembler = new BlockAssembler({
    coverage: null,
    onBlock: takeBlock,
    onLeftOut: (reason, position) => {
      if (OF_PARAMETERS.includes(reason)) mayMissParameters = true
      else if (!HARMLESS.includes(reason)) isDamaged = true
      logLeftOut(reason, position)
    },
    allowGap: true,
    strict: false,
  })
  const reading: FilesRead = { bytesRead: 0, cutOff: [], sequenceBreaks: 0 }
  let failure: Error | null = null
  try {
    await readEventFiles(input.files, reading, {
      sink: (bytes, start, end, position) => assembler.accept(bytes, start, end, position),
      log,
      signal,
      onChunk: () => options.onProgress?.(tally.report()),
    })
  } catch (error) {
    failure = error as Error
  }
  return { report: tally.report(), cutOff: reading.cutOff, failure }
}
