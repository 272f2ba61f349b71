import type { Logger } from 'pino'
import type { ReadProgress } from './event-file.ts'
import { orderEventFiles } from './event-order.ts'
import { type EventPath, EventPathError, explainPathError, presentPathOf } from './event-paths.ts'
import { CompressionError } from './gunzip.ts'
import { readAhead } from './read-ahead.ts'
import { RecordFramer, type RecordSink } from './record-framer.ts'
import { EventStreamError, type RecordPosition } from './record-position.ts'

/** The bytes handled at a time. A commit in progress continues after each piece. */
const FRAMED_PIECE_BYTES = 64 * 1024

type ReadRecordsOptions = {
  /** The file; `-` for standard input. */
  file: EventPath
  /** Counts the bytes of all files that are read with it. */
  progress: ReadProgress
  sink: RecordSink
  logger: Logger
  signal?: AbortSignal | undefined
  /** Called after every piece of the file, a few milliseconds of work; reading waits for it. */
  onChunk: () => Promise<void> | void
}

/**
 * A source that ends within a record, or within a gzip stream. `bytes` is the number of bytes after the last whole record.
 */
export type CutOffNotice = { source: string; offset: number; bytes: number }

/** How a source ended. */
type SourceEnd = {
  records: number
  /** Null if the source ends with a whole record. */
  cutOff: CutOffNotice | null
  /** How often the sequence number did not increase by one. */
  sequenceBreaks: number
}

/**
 * Reads one event file to its end, or until `signal` is aborted, and logs an incomplete end. Commands read all event
 * files so; live ingestion reads event logs by height.
 *
 * @throws {EventPathError} for a file that cannot be read.
 * @throws {EventStreamError} for bytes that are not records, and for damaged compression. Errors of `sink` are thrown
 *   too. Earlier records have been handed on.
 */
async function readRecords(options: ReadRecordsOptions): Promise<SourceEnd> {
  const { file, progress, logger, signal, onChunk } = options
  const path = presentPathOf(file)
  logger.debug(`${path}: reading`)
  const framer = new RecordFramer(path, options.sink)
  let left = file.growing !== undefined && file.bytes !== null ? file.bytes : Number.POSITIVE_INFINITY
  try {
    for await (const chunk of readAhead(path, progress, signal)) {
      const end = Math.min(chunk.length, left)
      for (let at = 0; at < end && !signal?.aborted; at += FRAMED_PIECE_BYTES) {
        framer.push(chunk.subarray(at, Math.min(at + FRAMED_PIECE_BYTES, end)))
        await onChunk()
      }
      left -= end
      if (signal?.aborted || left === 0) break
    }
  } catch (error) {
    throw explainReadError(error, framer.position)
  }
  const records = framer.position.record
  const { sequenceBreaks } = framer
  if (signal?.aborted) return { records, cutOff: null, sequenceBreaks }
  const rest = framer.end() ?? (progress.isCutShort ? { offset: framer.offset, bytes: 0 } : null)
  const cutOff = rest === null ? null : { source: path, ...rest }
  if (cutOff !== null) logger.warn(describeCutOff(cutOff))
  else if (records === 0) logger.warn(`${path}: the file is empty`)
  if (sequenceBreaks > 0)
    logger.warn(`${path}: ${sequenceBreaks} breaks in the record numbering (normal for concatenated files)`)
  return { records, cutOff, sequenceBreaks }
}

/** The progress over several files. */
export type FilesRead = ReadProgress & { cutOff: CutOffNotice[]; sequenceBreaks: number }

type ReadFilesOptions = Pick<ReadRecordsOptions, 'sink' | 'logger' | 'signal'> & {
  /** As in {@link ReadRecordsOptions}. */
  onChunk: (path: string) => Promise<void> | void
}

/**
 * Reads event files in the order of their events, as one stream, until `signal` is aborted.
 *
 * @param read is updated all the time, and is valid even after an error
 *
 * @throws {EventPathError} for a file that cannot be read, and if no file contains a record.
 * @throws {EventStreamError} as {@link readRecords}.
 */
export async function readEventFiles(
  files: readonly EventPath[],
  read: FilesRead,
  { sink, logger, signal, onChunk }: ReadFilesOptions,
): Promise<void> {
  let records = 0
  for (const file of await orderEventFiles(files, signal)) {
    if (signal?.aborted) break
    const onPiece = () => onChunk(file.path)
    const end = await readRecords({ file, progress: read, sink, logger, signal, onChunk: onPiece })
    records += end.records
    if (end.cutOff !== null) read.cutOff.push(end.cutOff)
    read.sequenceBreaks += end.sequenceBreaks
  }
  if (records === 0 && !signal?.aborted) throw noEventsError(files)
}

/** Describes in one line an incomplete end of a source. */
export function describeCutOff({ source, offset, bytes }: CutOffNotice): string {
  return bytes > 0
    ? `${source}: ends within a record, at offset ${offset} (${bytes} bytes left over)`
    : `${source}: the gzip stream is cut short after a whole record, at offset ${offset}`
}

/** The error for input without a record: the wrong files, or files that were never written. */
function noEventsError(files: readonly EventPath[]): EventPathError {
  const others = files.length === 1 ? '' : ` and ${files.length - 1} more`
  return new EventPathError(
    `${files[0]?.path}${others}: the input contains no complete event; name event files of the core (.evts, .evt, .bevt, gzipped or not)`,
  )
}

/** File errors and damaged compression, with the position in the file. */
function explainReadError(error: unknown, position: RecordPosition): unknown {
  if (error instanceof CompressionError) {
    return new EventStreamError(error.message, { ...position }, { cause: error })
  }
  return explainPathError(position.source, error)
}
