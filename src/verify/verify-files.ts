import type { Logger } from 'pino'
import type { Block } from '../blocks/block.ts'
import { BlockAssembler } from '../blocks/block-assembler.ts'
import type { LeftOutReason } from '../events/decode.ts'
import { leftOutLogger } from '../intake/take-in.ts'
import type { ReadProgress } from '../records/event-file.ts'
import { orderEventFiles } from '../records/event-order.ts'
import type { EventInput } from '../records/event-paths.ts'
import { type CutOffNotice, noEventsError, readRecords } from '../records/read-records.ts'
import type { TwapMethod } from '../twap/market-verifier.ts'
import { MarketRun } from './market-run.ts'
import { Tally, type VerifyFilter, type VerifyProgress, type VerifyReport } from './tally.ts'

export type VerifyFilesOptions = {
  input: EventInput
  method: TwapMethod
  filter: VerifyFilter
  log: Logger
  signal: AbortSignal
  onProgress?: VerifyProgress
}

/** What has come out, which files were cut off, and what stopped the reading, where something did. */
export type VerifyFilesResult = { report: VerifyReport; cutOff: CutOffNotice[]; failure: Error | null }

/** Reasons for which an event is left out that no TWAP depends on. */
const HARMLESS: readonly LeftOutReason[] = [
  'invalid market ID',
  'invalid party ID',
  'unknown provision status',
  'height of 2^63 or more',
]

/** Recomputes the TWAPs that event files hold, from the events before each; keeps one period of each market. */
export async function verifyFiles(options: VerifyFilesOptions): Promise<VerifyFilesResult> {
  const { input, method, filter, log, signal } = options
  const tally = new Tally(filter)
  const runs = new Map<string, MarketRun>()
  let lastHeight: bigint | null = null
  let isDamaged = false

  function runOf(marketId: string): MarketRun {
    let run = runs.get(marketId)
    if (run === undefined) {
      run = new MarketRun({ marketId, method, tally, knowsMarketData: true })
      runs.set(marketId, run)
      tally.report.markets++
    }
    return run
  }

  function forgetAll(): void {
    for (const run of runs.values()) run.forget()
  }

  function takeBlock(block: Block): void {
    const { height } = block
    const isIncomplete =
      assembler.coverage?.gaps.some(({ from, kind }) => kind === 'incomplete' && from === height) ?? false
    if ((lastHeight !== null && height !== lastHeight + 1n) || isIncomplete || isDamaged) forgetAll()
    lastHeight = height
    takeEvents(block)
    // What the block lacks may stand anywhere in it.
    if (isIncomplete || isDamaged) forgetAll()
    isDamaged = false
  }

  function takeEvents({ height, timestamp, events }: Block): void {
    for (const { index, event } of events) {
      if (filter.marketId !== null && 'marketId' in event && event.marketId !== filter.marketId) continue
      const place = { height, eventIndex: index }
      switch (event.kind) {
        case 'market-data':
          runs.get(event.marketId)?.marketDataSent(timestamp)
          break
        case 'auction':
          runOf(event.marketId).auction(event)
          break
        case 'funding-period':
          if (event.end === null) runOf(event.marketId).open(event, place)
          else runOf(event.marketId).close(event, place)
          break
        case 'funding-period-data-point':
          runOf(event.marketId).point(event, place)
          break
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
    onLeftOut: (reason, place) => {
      if (!HARMLESS.includes(reason)) isDamaged = true
      logLeftOut(reason, place)
    },
    allowGap: true,
    strict: false,
  })
  const reading: ReadProgress = { bytesRead: 0 }

  const cutOff: CutOffNotice[] = []
  let failure: Error | null = null
  try {
    for (const { path } of await orderEventFiles(input.files, signal)) {
      if (signal.aborted) break
      const end = await readRecords({
        path,
        progress: reading,
        sink: (bytes, start, end, place) => assembler.accept(bytes, start, end, place),
        log,
        signal,
        onChunk: () => options.onProgress?.(tally.report),
      })
      if (end.cutOff !== null) cutOff.push(end.cutOff)
    }
    const { records } = assembler.counts
    failure = noEventsError(input.files, { records, interrupted: signal.aborted })
  } catch (error) {
    failure = error as Error
  }
  return { report: tally.report, cutOff, failure }
}
