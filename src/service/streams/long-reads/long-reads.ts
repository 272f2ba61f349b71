import type { StoreHead } from '#core/store/pages/page'
import { type ChangedSummaries, MarketSummaries } from '#core/store/queries/summaries/market-summaries'
import { readUnseenRows } from '#core/store/queries/unseen/unseen-rows'
import type { Reader, Snapshot } from '#core/store/store'
import { type BytesOptions, type ExportFormat, exportBytes } from '../../formats/export-bytes.ts'
import type { ExportQuery, ExportSource, LineSource } from '../../formats/export-rows.ts'
import { chunkOf, type ReadChunk } from './chunk.ts'
import { ReadQueue } from './read-queue.ts'

/** Concurrent reads of a database server: the other connections are left for pages. */
const READS_AT_ONCE = 3

/** For a database server, the main thread writes each row group: small ones take it only milliseconds. */
const PARQUET: BytesOptions = {
  groupRows: 4_096,
  remedy: 'add numbers=text',
}

/** An export in progress: one snapshot of the store, which lasts until it is closed. */
export type OpenExport = {
  /** The last block of the snapshot; null in an empty store. */
  storeHead: StoreHead | null
  /** The bytes that follow; null at the end. */
  next(): Promise<Uint8Array | null>
  close(): Promise<void>
}

/**
 * Reads the summaries that differ from those of an earlier answer, by its name, or all of them if that was not the last
 * answer. Null while the store has no block, or a replica lags behind the last answer.
 */
export type ReadSummaries = (lastAnswer: string | null) => Promise<ChangedSummaries | null>

/** Reads that take longer than those of pages: for streams and exports, in turns. */
export type LongReads = {
  readChunk: ReadChunk
  readSummaries: ReadSummaries
  openExport(query: ExportQuery, format: ExportFormat): Promise<OpenExport>
  /** Empties the store's WAL, if it is long and no old snapshot is being read. */
  shortenWal(): Promise<void>
  /** Whether what reads has been loaded and runs. */
  isRunning(): boolean
  close(): Promise<void>
}

/**
 * Reads in this thread, from a reader that its owner closes: for a database that does the work itself.
 *
 * @param atOnce reads at a time
 */
export function longReadsOf(reader: Reader, atOnce = READS_AT_ONCE): LongReads {
  const queue = new ReadQueue(atOnce)
  const summaries = new MarketSummaries()
  return {
    readChunk: (query, readClass) =>
      queue.run(readClass, async () => {
        const unseenRows = await reader.read(() => readUnseenRows(query))
        return unseenRows === null ? null : chunkOf(query, unseenRows)
      }),
    readSummaries: (lastAnswer) => queue.run('live', () => reader.read(() => summaries.changed(lastAnswer))),
    openExport: async (query, format) => {
      const snapshot = await queue.run('export', () => reader.openSnapshot())
      return new SnapshotExport(snapshot, exportBytes(query, format, inTurn(snapshot, queue), PARQUET))
    },
    isRunning: () => true,
    shortenWal: () => queue.run('export', async () => reader.wal?.shorten()),
    close: async () => {},
  }
}

/** A snapshot as the source of an export, whose reads wait in a queue. */
function inTurn(snapshot: Snapshot, queue: ReadQueue): ExportSource & LineSource {
  const { lines } = snapshot
  return {
    page: (query) => queue.run('export', () => snapshot.page(query)),
    read: (query) => queue.run('export', () => snapshot.read(query)),
    ...(lines === undefined ? {} : { lines: (query) => queue.run('export', () => lines(query)) }),
  }
}

/** An export that reads each piece while the one before is sent. */
class SnapshotExport implements OpenExport {
  readonly #snapshot: Snapshot
  readonly #pieces: AsyncGenerator<string | Uint8Array, void, undefined>
  /** The piece after the last one returned; null before the first one. */
  #nextPiece: Promise<Uint8Array | null> | null = null

  constructor(snapshot: Snapshot, pieces: AsyncGenerator<string | Uint8Array, void, undefined>) {
    this.#snapshot = snapshot
    this.#pieces = pieces
  }

  get storeHead(): StoreHead | null {
    return this.#snapshot.storeHead
  }

  async next(): Promise<Uint8Array | null> {
    const piece = await (this.#nextPiece ?? this.#read())
    if (piece !== null) this.#nextPiece = this.#read()
    return piece
  }

  close(): Promise<void> {
    return this.#snapshot.close()
  }

  #read(): Promise<Uint8Array | null> {
    const piece = this.#pieces.next().then(({ done, value }) => {
      if (done) return null
      return typeof value === 'string' ? Buffer.from(value) : (value as Uint8Array)
    })
    // The next caller gets the fault, if there is one: the client may have disconnected.
    piece.catch(() => {})
    return piece
  }
}
