import type { Logger } from 'pino'
import { moduleBeside } from '#core/module-beside'
import type { ResourceName, Selection } from '#core/resources/resource'
import type { Position } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import { listenForCommits } from '../../commits.ts'
import type { ExportQuery } from '../../export/export-rows.ts'
import { exportText, type TextFormatName } from '../../export/text-formats.ts'
import type { Follower, Start } from '../../stream/follower.ts'
import { Hub } from '../../stream/hub.ts'
import { createReadingTurns } from '../../stream/reading-turns.ts'
import type { ThreadsOptions } from '../making-threads.ts'
import { startThread, type ThreadCalls } from '../thread-calls.ts'

/** Concurrent reads of a database server: the other connections are left for pages. */
const READS_AT_ONCE = 3

/** An export in progress: one snapshot of the store, which lasts until it is closed. */
export type OpenExport = {
  /** The last block of the snapshot; null in an empty store. */
  position: Position | null
  /** The text that follows; null at the end. */
  next(): Promise<Uint8Array | null>
  close(): Promise<void>
}

/** What reads for longer than a page takes: streams and exports, which take turns with each other. */
export type LongReads = {
  hub: Pick<Hub, 'follow' | 'leave'>
  openExport(query: ExportQuery, format: TextFormatName): Promise<OpenExport>
  /** Empties the store's WAL, if it is long and no old snapshot is being read. */
  shortenLog(): Promise<void>
  /** Whether everything that reads is loaded and runs. */
  isRunning(): boolean
  close(): Promise<void>
}

/**
 * Reads here, from a reader that stays its owner's to close: of a database that does the reading itself.
 *
 * @param commitsTo the store whose commits are announced in this process, after which streams are read
 * @param atOnce reads at a time
 */
export function longReadsOf(
  reader: Reader,
  onNotice: (message: string) => void,
  commitsTo: string,
  atOnce = READS_AT_ONCE,
): LongReads {
  const turns = createReadingTurns(atOnce)
  const hub = new Hub({ reader, turns, onNotice })
  const stopListening = listenForCommits(commitsTo, () => hub.committed())
  return {
    hub,
    openExport: async (query, format) => {
      const snapshot = await turns('export', () => reader.openSnapshot())
      const { lines } = snapshot
      const pieces = exportText(query, format, {
        page: (page) => turns('export', () => snapshot.page(page)),
        read: (reading) => turns('export', () => snapshot.read(reading)),
        ...(lines === undefined ? {} : { lines: (asked) => turns('export', () => lines(asked)) }),
      })
      const read = () => {
        const piece = pieces.next().then(({ done, value }) => {
          if (done) return null
          return typeof value.text === 'string' ? Buffer.from(value.text) : value.text
        })
        // Reported to the waiting reader, if the client is still connected.
        piece.catch(() => {})
        return piece
      }
      /** The piece after the one that has been given last: it is read while that one is sent. */
      let coming: Promise<Uint8Array | null> | null = null
      return {
        position: snapshot.position,
        next: async () => {
          const piece = await (coming ?? read())
          if (piece !== null) coming = read()
          return piece
        },
        close: () => snapshot.close(),
      }
    },
    isRunning: () => true,
    shortenLog: () => turns('export', async () => reader.log?.shorten()),
    close: async () => {
      stopListening()
      hub.close()
    },
  }
}

/** Requests to the thread. */
export type LongReadAsked =
  | { type: 'follow'; id: number; resource: ResourceName; selection: Selection; start: Start }
  | { type: 'leave'; id: number }
  | { type: 'drained'; id: number }
  | { type: 'export'; id: number; query: SentExportQuery; format: TextFormatName }
  | { type: 'next'; id: number }
  | { type: 'close'; id: number }
  | { type: 'shorten log' }

export type SentExportQuery = Omit<ExportQuery, 'resource'> & { resource: ResourceName }

/** Its answers: an export's position, its next text; nothing for the others. */
export type LongReadAnswer = Position | Uint8Array | null

/** Its notifications: bytes for followers, a question whether one has read what was sent, a notice. */
export type LongReadNews =
  | { type: 'send'; ids: number[]; bytes: Uint8Array; sharers: number }
  | { type: 'drain'; id: number }
  | { type: 'notice'; message: string }

/** Start data of the thread. */
export type LongReadTask = { store: string; isReadOnly: boolean }

/** Reads an embedded store in a separate thread, so that nothing else waits for it. */
export function startLongReads(
  store: string,
  log: Logger,
  { isReadOnly = false, isLate = false }: Pick<ThreadsOptions, 'isReadOnly' | 'isLate'> = {},
): LongReads {
  const followers = new Map<number, Follower>()
  const ids = new Map<Follower, number>()
  let count = 0
  const thread: ThreadCalls<LongReadAsked, LongReadAnswer> = startThread<
    LongReadAsked,
    LongReadAnswer,
    LongReadNews
  >({
    module: moduleBeside(import.meta.url, 'long-read-thread'),
    task: { store, isReadOnly } satisfies LongReadTask,
    log,
    what: 'the thread that reads for streams and exports',
    isLate,
    onNews: (news) => {
      switch (news.type) {
        case 'send': {
          const bytes = Buffer.from(news.bytes.buffer, news.bytes.byteOffset, news.bytes.byteLength)
          for (const id of news.ids) followers.get(id)?.send(bytes, news.sharers)
          break
        }
        case 'drain':
          void followers
            .get(news.id)
            ?.drained()
            .then(() => send({ type: 'drained', id: news.id }))
          break
        case 'notice':
          log.warn(news.message)
          break
        default:
          news satisfies never
      }
    },
  })

  /** If the thread fails, every pending request is rejected. */
  function send(asked: LongReadAsked): void {
    thread.ask(asked).catch(() => {})
  }

  function leave(follower: Follower): void {
    const id = ids.get(follower)
    if (id === undefined) return
    ids.delete(follower)
    followers.delete(id)
    send({ type: 'leave', id })
  }

  return {
    hub: {
      follow: async ({ name }, selection, follower, start) => {
        const id = count++
        followers.set(id, follower)
        ids.set(follower, id)
        await thread.ask({ type: 'follow', id, resource: name, selection, start })
      },
      leave,
    },
    openExport: async ({ resource, ...query }, format) => {
      const id = count++
      const sent = { ...query, resource: resource.name }
      return {
        position: (await thread.ask({ type: 'export', id, query: sent, format })) as Position | null,
        next: () => thread.ask({ type: 'next', id }) as Promise<Uint8Array | null>,
        close: async () => {
          await thread.ask({ type: 'close', id }).catch(() => {})
        },
      }
    },
    shortenLog: async () => {
      await thread.ask({ type: 'shorten log' })
    },
    isRunning: thread.isRunning,
    close: thread.close,
  }
}
