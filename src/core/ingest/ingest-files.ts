import type { Logger } from 'pino'
import { MissingHistoryError } from '../blocks/block.ts'
import { BlockAssembler } from '../blocks/block-assembler.ts'
import { type Coverage, missingHistory } from '../domain/coverage.ts'
import type { Gap } from '../domain/gap-list.ts'
import { describeBlocks } from '../domain/height-ranges.ts'
import type { LeftOutReason } from '../events/left-out.ts'
import { type EventInput, EventPathError } from '../records/event-paths.ts'
import { type FilesRead, readEventFiles } from '../records/read-records.ts'
import type { RecordSink } from '../records/record-framer.ts'
import { describePosition, EventStreamError, type RecordPosition } from '../records/record-position.ts'
import type { Writer } from '../store/store.ts'
import { BatchWriter } from './batch-writer.ts'
import { type IngestionReport, reportOfCoverage } from './report.ts'

/** Number of log lines for each reason of left-out events; the report counts all of them. */
const LEFT_OUT_LINES = 10

export type IngestionProgress = {
  source: string
  /** Bytes read of all files so far, as stored. */
  bytesRead: number
  /** Bytes of all files; null if unknown. */
  bytesTotal: number | null
  records: number
  /** Events and list elements left out so far, by reason. */
  leftOut: ReadonlyMap<LeftOutReason, number>
  /** The coverage at the last commit; null before the first. */
  coverage: Coverage | null
}

type IngestionOptions = {
  input: EventInput
  writer: Writer
  logger: Logger
  allowGap: boolean
  strict: boolean
  signal?: AbortSignal
  /** Called after every piece of input. */
  onProgress?: (progress: IngestionProgress) => void
  /** Called after every commit. */
  onCommit?: (coverage: Coverage) => void
}

/** The result of an ingestion, and the fault that stopped it, if any. Complete blocks before the fault are committed. */
export type IngestionResult = { report: IngestionReport; failure: Error | null }

/** Ingests event files into a store, as one stream. The files are ordered by their first events. */
export async function ingestFiles(options: IngestionOptions): Promise<IngestionResult> {
  const { input, writer, logger, signal } = options
  const startedAt = performance.now()
  const before = await writer.coverage()
  const batches = new BatchWriter(writer, options.onCommit)
  const assembler = new BlockAssembler({
    coverage: before,
    onBlock: (block) => batches.add(block),
    onLeftOut: leftOutLogger(logger),
    mayMiss: () => options.allowGap,
    strict: options.strict,
  })
  const sink: RecordSink = (bytes, start, end, position) => assembler.accept(bytes, start, end, position)
  const bytesTotal = input.files.reduce<number | null>(
    (total, { bytes }) => (total === null || bytes === null ? null : total + bytes),
    0,
  )
  const reading: FilesRead = { bytesRead: 0, cutOff: [], sequenceBreaks: 0 }
  let failure: Error | null = null
  try {
    await readEventFiles(input.files, reading, {
      sink,
      logger,
      signal,
      onChunk: async (source) => {
        await batches.commitIfDue(assembler)
        options.onProgress?.({
          source,
          bytesRead: reading.bytesRead,
          bytesTotal,
          records: assembler.counts.records,
          leftOut: assembler.counts.leftOut,
          coverage: batches.committed ?? before,
        })
      },
    })
    if (!signal?.aborted) assembler.end()
  } catch (error) {
    failure = error as Error
  }
  const isOfInput = failure instanceof EventStreamError || failure instanceof EventPathError
  failure = await batches.finish(failure, isOfInput, assembler.coverage, signal)
  const { counts } = assembler
  const coverage = batches.committed ?? before
  if (!options.allowGap && !signal?.aborted) failure ??= missingBelow(before, coverage)
  const report: IngestionReport = {
    blocks: batches.committedBlocks,
    heldBlocks: counts.storedBlocks,
    importedBlocks: counts.importedBlocks,
    records: counts.records,
    bytes: reading.bytesRead,
    rows: batches.rows,
    leftOut: Object.fromEntries(counts.leftOut),
    passedOver: {
      beforeFirstBlock: counts.beforeFirstBlock,
      outsideBlocks: counts.outsideBlocks,
      repeated: counts.repeated,
    },
    unfinishedBlocks: counts.incompleteBlocks,
    pendingHeight: failure === null ? (assembler.pendingHeight?.toString() ?? null) : null,
    cutOff: reading.cutOff,
    sequenceBreaks: reading.sequenceBreaks,
    foreignFiles: input.foreign,
    ...reportOfCoverage(coverage),
    seconds: (performance.now() - startedAt) / 1000,
    interrupted: signal?.aborted ?? false,
  }
  return { report, failure }
}

/** Missing blocks below the store's former first block, if blocks were added there; null if none are missing. */
export function missingBelow(before: Coverage | null, after: Coverage | null): MissingHistoryError | null {
  if (before === null || after === null) return null
  const missing = missingHistory(after)
  const isAdding = after.first < before.first || countHeights(missing) < countHeights(missingHistory(before))
  if (!isAdding || missing.length === 0) return null
  const shown = missing.slice(0, 5).map(describeBlocks)
  if (missing.length > shown.length) shown.push(`${missing.length - shown.length} more gaps`)
  return new MissingHistoryError(
    `still missing below block ${after.began}, the first block of the store: ${shown.join(', ')}. ` +
      'Ingest files that contain them, or skip them with --allow-gap',
  )
}

function countHeights(gaps: readonly Gap[]): bigint {
  return gaps.reduce((sum, { from, to }) => sum + to - from + 1n, 0n)
}

/** Logs the first events that are left out for each reason. */
export function leftOutLogger(logger: Logger): (reason: LeftOutReason, position: RecordPosition) => void {
  const lines = new Map<LeftOutReason, number>()
  return (reason, position) => {
    const count = (lines.get(reason) ?? 0) + 1
    lines.set(reason, count)
    if (count > LEFT_OUT_LINES) return
    const more = count === LEFT_OUT_LINES ? '; further ones are counted but not logged' : ''
    logger.warn({ reason, ...position }, `left out: ${reason}, ${describePosition(position)}${more}`)
  }
}
