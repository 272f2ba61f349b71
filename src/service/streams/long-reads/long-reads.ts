import type { Logger } from 'pino'
import { moduleBeside } from '#core/concurrency/module-beside'
import type { ResourceName } from '#core/model/resource'
import type { StoreHead } from '#core/store/pages/page'
import { type ChangedSummaries, MarketSummaries } from '#core/store/queries/summaries/market-summaries'
import { readUnseenRows, type UnseenQuery } from '#core/store/queries/unseen/unseen-rows'
import type { Reader } from '#core/store/store'
import type { ThreadsOptions } from '../answers/render-threads.ts'
import { ThreadCalls } from '../answers/thread-calls.ts'
import { type BytesOptions, type ExportFormat, exportBytes } from '../formats/export-bytes.ts'
import type { ExportQuery, ExportSource, LineSource } from '../formats/export-rows.ts'
import { type Chunk, chunkOf, type ReadChunk } from './chunk.ts'
import { type ReadClass, ReadQueue } from './read-queue.ts'
import type { ReadSummaries } from './summary-feed.ts'

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
    readSummaries: (known) => queue.run('live', () => reader.read(() => summaries.changed(known))),
    openExport: async (query, format) => {
      const snapshot = await queue.run('export', () => reader.openSnapshot())
      const { lines } = snapshot
      const source: ExportSource & LineSource = {
        page: (page) => queue.run('export', () => snapshot.page(page)),
        read: (query) => queue.run('export', () => snapshot.read(query)),
        ...(lines === undefined ? {} : { lines: (query) => queue.run('export', () => lines(query)) }),
      }
      const pieces = exportBytes(query, format, source, PARQUET)
      const read = () => {
        const piece = pieces.next().then(({ done, value }) => {
          if (done) return null
          return typeof value === 'string' ? Buffer.from(value) : value
        })
        // The next caller gets the fault, if there is one: the client may have disconnected.
        piece.catch(() => {})
        return piece
      }
      /** The piece after the last one returned: it is read while that one is sent. */
      let nextPiece: Promise<Uint8Array | null> | null = null
      return {
        storeHead: snapshot.storeHead,
        next: async () => {
          const piece = await (nextPiece ?? read())
          if (piece !== null) nextPiece = read()
          return piece
        },
        close: () => snapshot.close(),
      }
    },
    isRunning: () => true,
    shortenWal: () => queue.run('export', async () => reader.wal?.shorten()),
    close: async () => {},
  }
}

/** Requests to the thread. */
export type LongReadRequest =
  | { type: 'chunk'; query: SentQuery<UnseenQuery>; readClass: ReadClass }
  | { type: 'summaries'; known: string | null }
  | { type: 'export'; id: number; query: SentQuery<ExportQuery>; format: ExportFormat }
  | { type: 'next'; id: number }
  | { type: 'close'; id: number }
  | { type: 'shorten WAL' }

/** A query as it is sent to the thread: with the name of its resource. */
type SentQuery<Query> = Omit<Query, 'resource'> & { resource: ResourceName }

/** The thread's answers: a stream's next events, summaries, an export's store head, its next bytes; null for the others. */
export type LongReadAnswer = SentChunk | ChangedSummaries | StoreHead | Uint8Array | null

type SentChunk = Omit<Chunk, 'bytes'> & { bytes: Uint8Array }

/** Start data of the thread. */
export type LongReadTask = { store: string; isReadOnly: boolean }

/** Reads an embedded store in a separate thread, so that nothing else waits for it. */
export function startLongReads(
  store: string,
  log: Logger,
  { isReadOnly = false, isLate = false }: Pick<ThreadsOptions, 'isReadOnly' | 'isLate'> = {},
): LongReads {
  let exportCount = 0
  const thread = new ThreadCalls<LongReadRequest, LongReadAnswer>({
    module: moduleBeside(import.meta.url, 'long-read-thread'),
    task: { store, isReadOnly } satisfies LongReadTask,
    log,
    what: 'the thread that reads for streams and exports',
    isLate,
  })

  return {
    readChunk: async ({ resource, ...query }, readClass) => {
      const sent = { ...query, resource: resource.name }
      const chunk = (await thread.ask({ type: 'chunk', query: sent, readClass })) as SentChunk | null
      return chunk && { ...chunk, bytes: Buffer.from(chunk.bytes.buffer) }
    },
    readSummaries: (known) => thread.ask({ type: 'summaries', known }) as Promise<ChangedSummaries | null>,
    openExport: async ({ resource, ...query }, format) => {
      const id = exportCount++
      const sent = { ...query, resource: resource.name }
      return {
        storeHead: (await thread.ask({ type: 'export', id, query: sent, format })) as StoreHead | null,
        next: () => thread.ask({ type: 'next', id }) as Promise<Uint8Array | null>,
        close: async () => {
          await thread.ask({ type: 'close', id }).catch(() => {})
        },
      }
    },
    shortenWal: async () => {
      await thread.ask({ type: 'shorten WAL' })
    },
    isRunning: () => thread.isRunning,
    close: () => thread.close(),
  }
}
