import { type Coverage, importedText } from '#core/domain/coverage'
import { getOrInsert } from '#core/domain/get-or-insert'
import { formatTime } from '#core/domain/time'
import { BatchWriter } from '#core/ingest/batch-writer'
import { type IngestionProgress, missingBelow } from '#core/ingest/ingest-files'
import { reportOfCoverage } from '#core/ingest/report'
import type { Writer } from '#core/store/store'
import { createImportCoverage } from './import-coverage.ts'
import { ImportError } from './import-error.ts'
import type { ImportReport } from './import-report.ts'
import { takeRows } from './read-by-block.ts'
import { fromMicroseconds } from './reference-values.ts'
import { RowQueue } from './row-queue.ts'
import type { HistoryPart, ImportSource, SourceBlock, SourceRow, TableQuery } from './source.ts'
import { HISTORY, OF_STATE, PAYMENTS_WITHOUT_LOSSES } from './tables.ts'
import { ImportTally } from './tally.ts'
import { type BlockRows, writeBlock } from './write-block.ts'
import { writeState } from './write-state.ts'

/** Resources whose rows are imported with their blocks. */
const OF_BLOCKS = [
  ['checkpoints', HISTORY.checkpoints],
  ['fundingPeriodDataPoints', HISTORY.points],
  ['fundingPayments', PAYMENTS_WITHOUT_LOSSES],
  ['liquidityProviderHistory', HISTORY.epochData],
  ['paidLiquidityFees', HISTORY.paidFees],
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
  const { source, writer, signal } = options
  const startedAt = performance.now()
  const before = await writer.coverage()
  const importCoverage = createImportCoverage(before, source.chainId, options.allowGap)
  const tally = new ImportTally()
  const batches = new BatchWriter(writer, options.onCommit)
  const [lowest, highest] = endsOf(source)
  let heldBlocks = 0
  let failure: Error | null = null

  const showProgress = (height: number) => {
    const { source: name, bytesRead, rows: records } = source.progress
    const share = highest > lowest ? Math.min(1, Math.max(0, (height - lowest) / (highest - lowest))) : 1
    const coverage = batches.committed ?? before
    options.onProgress?.({ source: name, bytesRead, bytesTotal: null, records, share, coverage })
  }

  async function importPart(part: HistoryPart): Promise<void> {
    if (part.ends === null) return
    const wanted = importCoverage.lowestWanted(part.ends.from)
    // Includes the store's last block, whose time distinguishes networks with the same chain id.
    const from = isKnown(before, part.ends) ? Math.min(wanted, Number(before.height)) : wanted
    if (from > part.ends.from) {
      const last = Math.min(from - 1, part.ends.to)
      importCoverage.passOver(BigInt(part.ends.from), BigInt(last))
      heldBlocks += last - part.ends.from + 1
    }
    // State is written only after all blocks.
    const missing: string[] = Object.keys(OF_STATE)
    for (const [resource, query] of OF_BLOCKS) {
      const reason = part.whyUnreadable(query)
      if (reason !== null) {
        missing.push(resource)
        getOrInsert(tally.missing, resource, () => reason)
      }
    }
    missing.sort()
    const tables = (Object.entries(HISTORY) as [keyof BlockRows, TableQuery][]).map(([name, ofAll]) => {
      const query =
        name === 'payments' && part.whyUnreadable(ofAll) !== null ? PAYMENTS_WITHOUT_LOSSES : ofAll
      const rows = () => part.history(query, from, (height) => importCoverage.wants(BigInt(height)))
      return { name, queue: part.whyUnreadable(query) === null ? new RowQueue(rows()) : null }
    })
    try {
      for await (const blocks of part.blocks(from)) {
        for (const block of blocks) {
          if (signal?.aborted) return
          const { height } = block
          if (!importCoverage.wants(BigInt(height))) {
            if (before?.height === BigInt(height)) refuseOtherNetwork(block, before, part.name)
            heldBlocks++
            importCoverage.passOver(BigInt(height), BigInt(height))
            continue
          }
          const rows = {} as Record<keyof BlockRows, SourceRow[]>
          for (const { name, queue } of tables) rows[name] = queue ? await takeRows(queue, height) : []
          importCoverage.add(block, missing, part.name)
          batches.change(0, (batch) => writeBlock(batch, block, rows, tally))
          await batches.commitIfDue(importCoverage)
        }
        showProgress(blocks.at(-1)?.height ?? lowest)
      }
    } finally {
      for (const { queue } of tables) await queue?.close()
    }
  }

  async function importState(): Promise<void> {
    // Until its tables are written, a resource is missing in the blocks.
    const readable = Object.entries(OF_STATE).filter(([resource, tables]) => {
      const reason = tables.map((query) => source.whyUnreadable(query)).find((why) => why !== null)
      if (reason !== undefined) getOrInsert(tally.missing, resource, () => reason)
      return reason === undefined
    })
    await writeState({
      source,
      importCoverage,
      batches,
      tally,
      signal,
      onProgress: () => showProgress(highest),
    })
    if (signal?.aborted) return
    for (const [resource] of readable) importCoverage.complete(resource)
    if (importCoverage.coverage !== null) await batches.commitAll(importCoverage.coverage)
  }

  try {
    for (const part of source.parts) if (!signal?.aborted) await importPart(part)
    if (importCoverage.coverage === null && !signal?.aborted) {
      throw new ImportError(`${source.name}: contains no blocks: there is nothing to import`)
    }
    if (!signal?.aborted) await importState()
  } catch (error) {
    if (!(signal?.aborted && error === signal.reason)) failure = error as Error
  }
  failure = await batches.finish(
    failure,
    failure instanceof ImportError,
    importCoverage.coverage,
    options.signal,
  )
  const coverage = batches.committed ?? before
  if (!options.allowGap && !signal?.aborted) failure ??= missingBelow(before, coverage)
  const { withoutBlock } = source.progress
  if (withoutBlock > 0) tally.leaveOut('its block is not in the source', withoutBlock)
  const report: ImportResult['report'] = {
    source: source.name,
    chainId: source.chainId,
    blocks: batches.committedBlocks,
    heldBlocks,
    rows: batches.rows,
    rowsRead: source.progress.rows,
    leftOut: tally.leftOut,
    first: tally.firstTimes(),
    notImported: [...tally.missing].map(([resource, reason]) => ({ resource, reason })),
    ...reportOfCoverage(coverage),
    imported: (coverage?.imported ?? []).map(importedText),
    seconds: (performance.now() - startedAt) / 1000,
    interrupted: signal?.aborted ?? false,
  }
  return { report, failure }
}

function endsOf({ parts }: ImportSource): [lowest: number, highest: number] {
  const ends = parts.flatMap((part) => (part.ends === null ? [] : [part.ends]))
  return [Math.min(...ends.map(({ from }) => from)), Math.max(...ends.map(({ to }) => to))]
}

const isKnown = (store: Coverage | null, { from, to }: { from: number; to: number }): store is Coverage =>
  store !== null && store.height >= BigInt(from) && store.height <= BigInt(to)

/**
 * Refuses a block whose time differs from that of the stored block with the same height, except in digits that a data node
 * cuts off.
 *
 * @throws {ImportError} if it does.
 */
function refuseOtherNetwork({ height, time }: SourceBlock, { timestamp }: Coverage, source: string): void {
  const own = fromMicroseconds(time)
  if (own === timestamp - (timestamp % 1_000n)) return
  throw new ImportError(
    `${source}: block ${height} is of ${formatTime(own)}, but of ${formatTime(timestamp)} in the store: it is another network with the same chain id; use one store for each`,
  )
}
