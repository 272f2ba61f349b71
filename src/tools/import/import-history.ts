import { type Coverage, importedText } from '#core/domain/coverage'
import { getOrInsert } from '#core/domain/get-or-insert'
import { cutToMicrosecond, formatTime } from '#core/domain/time'
import { BatchWriter } from '#core/ingest/batch-writer'
import { type IngestionProgress, missingBelow } from '#core/ingest/ingest-files'
import { reportOfCoverage } from '#core/ingest/report'
import type { Writer } from '#core/store/store'
import { ImportCoverage } from './import-coverage.ts'
import { ImportError } from './import-error.ts'
import type { ImportReport } from './import-report.ts'
import { takeRows } from './read-by-block.ts'
import { fromMicroseconds } from './reference-values.ts'
import { RowQueue } from './row-queue.ts'
import type { HistoryPart, HistoryRow, ImportSource, SourceBlock, SourceRow, TableQuery } from './source.ts'
import { FEES_OF_EPOCHS, HISTORY, OF_STATE, PAYMENTS_WITHOUT_LOSSES } from './tables.ts'
import { ImportTally } from './tally.ts'
import { type BlockRows, writeBlock } from './write-block.ts'
import { writeState } from './write-state.ts'

/** Resources whose rows are imported with their blocks. */
const OF_BLOCKS = [
  ['checkpoints', HISTORY.checkpoints],
  ['fundingPeriodDataPoints', HISTORY.points],
  ['fundingPayments', PAYMENTS_WITHOUT_LOSSES],
  ['epochs', HISTORY.epochs],
  ['liquidityProviderHistory', HISTORY.epochData],
  ['paidLiquidityFees', FEES_OF_EPOCHS],
  ['paidLiquidityFeesStats', HISTORY.paidFees],
] as const

/** Progress of an import, with rows as records. `share` is the completed part of the source's heights, 0 to 1. */
type ImportProgress = Omit<IngestionProgress, 'leftOut'> & { share: number }

export type ImportOptions = {
  source: ImportSource
  writer: Writer
  allowGap: boolean
  signal?: AbortSignal
  /** Called after every chunk of blocks and every commit. */
  onProgress?: (progress: ImportProgress) => void
  onCommit?: (coverage: Coverage) => void
}

/** The result of an import, and the error that ended it, if any. Complete blocks before the error are stored. */
export type ImportResult = { report: Omit<ImportReport, 'foreignFiles'>; failure: Error | null }

/**
 * Imports a source: first its blocks with their rows, by height, then its current state. Until that is written, the store
 * reports the state's resources as missing in the blocks. An import that ends early can be run again.
 *
 * @throws {ImportError} if the store is of another chain.
 */
export async function importHistory(options: ImportOptions): Promise<ImportResult> {
  return new HistoryImport(options, await options.writer.coverage()).run()
}

/** One import of a source into a store. */
class HistoryImport {
  readonly #options: ImportOptions
  readonly #startedAt = performance.now()
  readonly #lowest: number
  readonly #highest: number
  /** The store's coverage before the import. */
  readonly #before: Coverage | null
  readonly #coverage: ImportCoverage
  readonly #tally = new ImportTally()
  readonly #batches: BatchWriter
  /** Blocks of the source that the store has already. */
  #storedBlocks = 0

  constructor(options: ImportOptions, before: Coverage | null) {
    this.#options = options
    this.#before = before
    const [lowest, highest] = endsOf(options.source)
    this.#lowest = lowest
    this.#highest = highest
    this.#coverage = new ImportCoverage(before, options.source.chainId, options.allowGap)
    this.#batches = new BatchWriter(options.writer, options.onCommit)
  }

  async run(): Promise<ImportResult> {
    const { allowGap, signal } = this.#options
    let failure: Error | null = null
    try {
      await this.#importAll()
    } catch (error) {
      if (!(signal?.aborted && error === signal.reason)) failure = error as Error
    }
    const isImportError = failure instanceof ImportError
    failure = await this.#batches.finish(failure, isImportError, this.#coverage.coverage, signal)
    if (!allowGap && !signal?.aborted) failure ??= missingBelow(this.#before, this.#committed)
    return { report: this.#report(), failure }
  }

  async #importAll(): Promise<void> {
    const { source, signal } = this.#options
    for (const part of source.parts) if (!signal?.aborted) await this.#importPart(part)
    if (signal?.aborted) return
    if (this.#coverage.coverage === null) {
      throw new ImportError(`${source.name}: contains no blocks: there is nothing to import`)
    }
    await this.#importState()
  }

  async #importPart(part: HistoryPart): Promise<void> {
    if (part.ends === null) return
    const from = this.#firstHeightOf(part.ends)
    const missing = this.#missingResourcesOf(part)
    const tables = this.#openTables(part, from)
    try {
      for await (const blocks of part.blocks(from)) {
        for (const block of blocks) {
          if (this.#options.signal?.aborted) return
          if (this.#coverage.wants(BigInt(block.height)))
            await this.#importBlock(part, block, tables, missing)
          else this.#passOver(part, block)
        }
        this.#showProgress(blocks.at(-1)?.height ?? this.#lowest)
      }
    } finally {
      for (const { queue } of tables) await queue?.close()
    }
  }

  /** The height from which a part is read: those below it are stored. */
  #firstHeightOf(ends: { from: number; to: number }): number {
    const before = this.#before
    const wanted = this.#coverage.lowestWanted(ends.from)
    // Includes the store's last block, whose time distinguishes networks with the same chain id.
    const from = hasEndIn(before, ends) ? Math.min(wanted, Number(before.height)) : wanted
    if (from > ends.from) {
      const last = Math.min(from - 1, ends.to)
      this.#coverage.passOver(BigInt(ends.from), BigInt(last))
      this.#storedBlocks += last - ends.from + 1
    }
    return from
  }

  /** The resources that are missing in the blocks of a part: those that it has no table of, and state, which is written last. */
  #missingResourcesOf(part: HistoryPart): string[] {
    const missing: string[] = Object.keys(OF_STATE)
    for (const [resource, query] of OF_BLOCKS) {
      const reason = part.whyUnreadable(query)
      if (reason === null) continue
      missing.push(resource)
      getOrInsert(this.#tally.missing, resource, () => reason)
    }
    return missing.sort()
  }

  #openTables(part: HistoryPart, from: number): OpenTable[] {
    return (Object.entries(HISTORY) as [keyof BlockRows, TableQuery][]).map(([name, ofAll]) => {
      const query =
        name === 'payments' && part.whyUnreadable(ofAll) !== null ? PAYMENTS_WITHOUT_LOSSES : ofAll
      const rows = () => part.history(query, from, (height) => this.#coverage.wants(BigInt(height)))
      return { name, queue: part.whyUnreadable(query) === null ? new RowQueue(rows()) : null }
    })
  }

  async #importBlock(
    part: HistoryPart,
    block: SourceBlock,
    tables: readonly OpenTable[],
    missing: readonly string[],
  ): Promise<void> {
    const rows = {} as Record<keyof BlockRows, SourceRow[] | null>
    for (const { name, queue } of tables) rows[name] = queue && (await takeRows(queue, block.height))
    this.#coverage.add(block, missing, part.name)
    this.#batches.change(0, (batch) => writeBlock(batch, block, rows, this.#tally))
    await this.#batches.commitIfDue(this.#coverage)
  }

  /** Passes over a block that is stored. */
  #passOver(part: HistoryPart, block: SourceBlock): void {
    const height = BigInt(block.height)
    if (this.#before?.height === height) refuseOtherNetwork(block, this.#before, part.name)
    this.#storedBlocks++
    this.#coverage.passOver(height, height)
  }

  async #importState(): Promise<void> {
    const { source, signal } = this.#options
    // Until its tables are written, a resource is missing in the blocks.
    const readable = Object.entries(OF_STATE).filter(([resource, tables]) => {
      const reason = tables.map((query) => source.whyUnreadable(query)).find((why) => why !== null)
      if (reason !== undefined) getOrInsert(this.#tally.missing, resource, () => reason)
      return reason === undefined
    })
    await writeState({
      source,
      importCoverage: this.#coverage,
      batches: this.#batches,
      tally: this.#tally,
      signal,
      onProgress: () => this.#showProgress(this.#highest),
    })
    if (signal?.aborted) return
    for (const [resource] of readable) this.#coverage.complete(resource)
    if (this.#coverage.coverage !== null) await this.#batches.commitAll(this.#coverage.coverage)
  }

  /** The store's coverage as of the last commit. */
  get #committed(): Coverage | null {
    return this.#batches.committed ?? this.#before
  }

  #showProgress(height: number): void {
    const { source, onProgress } = this.#options
    const { source: name, bytesRead, rows: records } = source.progress
    const heights = this.#highest - this.#lowest
    const share = heights > 0 ? Math.min(1, Math.max(0, (height - this.#lowest) / heights)) : 1
    onProgress?.({ source: name, bytesRead, bytesTotal: null, records, share, coverage: this.#committed })
  }

  #report(): ImportResult['report'] {
    const { source, signal } = this.#options
    const { withoutBlock } = source.progress
    if (withoutBlock > 0) this.#tally.leaveOut('its block is not in the source', withoutBlock)
    const coverage = this.#committed
    return {
      source: source.name,
      chainId: source.chainId,
      blocks: this.#batches.committedBlocks,
      heldBlocks: this.#storedBlocks,
      rows: this.#batches.rows,
      rowsRead: source.progress.rows,
      leftOut: this.#tally.leftOut,
      first: this.#tally.firstTimes(),
      notImported: [...this.#tally.missing].map(([resource, reason]) => ({ resource, reason })),
      ...reportOfCoverage(coverage),
      imported: (coverage?.imported ?? []).map(importedText),
      seconds: (performance.now() - this.#startedAt) / 1000,
      interrupted: signal?.aborted ?? false,
    }
  }
}

/** A table of a source's history, and its rows in the order of blocks; null if the source does not have it. */
type OpenTable = { name: keyof BlockRows; queue: RowQueue<HistoryRow> | null }

/** The first height of a source, and its last. */
function endsOf({ parts }: ImportSource): [lowest: number, highest: number] {
  let [lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { ends } of parts) {
    if (ends === null) continue
    lowest = Math.min(lowest, ends.from)
    highest = Math.max(highest, ends.to)
  }
  return [lowest, highest]
}

/** Whether the last block of a store lies between two heights. */
const hasEndIn = (store: Coverage | null, { from, to }: { from: number; to: number }): store is Coverage =>
  store !== null && store.height >= BigInt(from) && store.height <= BigInt(to)

/**
 * Refuses a block whose time differs from that of the stored block with the same height, except in digits that a data node
 * cuts off.
 *
 * @throws {ImportError} if it does.
 */
function refuseOtherNetwork({ height, time }: SourceBlock, { timestamp }: Coverage, source: string): void {
  const own = fromMicroseconds(time)
  if (own === cutToMicrosecond(timestamp)) return
  throw new ImportError(
    `${source}: block ${height} is of ${formatTime(own)}, but of ${formatTime(timestamp)} in the store: it is another network with the same chain id; use one store for each`,
  )
}
