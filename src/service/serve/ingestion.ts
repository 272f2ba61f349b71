import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import type { Logger } from 'pino'
import type { IngestionReport } from '#core/ingest/report'
import { isLogFault } from '#core/log/files/log-folder'
import { StoreError } from '#core/store/errors'
import type { FromIngestion } from '../live/ingestion-thread.ts'
import type { LiveTask } from '../live/live-ingestion.ts'
import { type IngestionListener, startIngestionThread } from '../live/start-ingestion.ts'
import { explainListenError, ListenError } from './listen.ts'
import { isReader, type ServeSettings } from './settings.ts'

/** What an ingestion reports while it works: plain data, since it comes from another thread. */
export type IngestionMessage = FromIngestion | { type: 'failed'; message: string }

/** A service's ingestion. */
type Ingestion = {
  /** Resolves once the named event files have been ingested, or ingestion has failed: with whether they were. */
  readonly ingested: Promise<boolean>
  /** Resolves once a core may connect, if one is waited for. Rejects with an error that ends the start. */
  readonly listening: Promise<void>
  /** Resolves with the reason once the store does not let this user write. */
  readonly refused: Promise<string>
  /** Begins to write to the store, which must exist and be up to date. */
  begin(): void
  /** Lets the running batch finish, and ends. */
  stop(): Promise<void>
}

/**
 * Starts the configured ingestion in a thread, unless there is nothing to ingest or prune. A core may connect before {@link
 * Ingestion.begin}.
 *
 * @param notify is called with each report
 */
export function startIngestion(
  settings: ServeSettings,
  logger: Logger,
  notify: (report: IngestionMessage) => void,
): Ingestion {
  const { store, listen, follow, paths, keep, allowGap, strict, logLevel } = settings
  const progress = new IngestionProgress(settings, logger, notify)
  const promises = progress.promises()
  if (isReader(settings)) return { ...promises, begin: () => {}, stop: async () => {} }
  const live = listen === null && follow.length === 0 ? null : liveTaskOf(settings)
  const task = { store, paths, live, keep, allowGap, strict, logLevel }
  return { ...promises, ...startIngestionThread(task, progress) }
}

/** Follows the messages of the ingestion's thread: logs them, and settles the promises of an {@link Ingestion}. */
class IngestionProgress implements IngestionListener {
  readonly #listen: ServeSettings['listen']
  readonly #follow: readonly string[]
  readonly #logger: Logger
  readonly #notify: (report: IngestionMessage) => void
  readonly #ingested = Promise.withResolvers<boolean>()
  readonly #listening = Promise.withResolvers<void>()
  readonly #refused = Promise.withResolvers<string>()
  /** Whether a core may connect, if one is waited for. Until then a failure makes the whole start fail. */
  #isStarted: boolean

  constructor(
    { listen, follow, paths }: ServeSettings,
    logger: Logger,
    notify: (report: IngestionMessage) => void,
  ) {
    this.#listen = listen
    this.#follow = follow
    this.#logger = logger
    this.#notify = notify
    this.#isStarted = listen === null
    if (paths.length === 0) this.#ingested.resolve(true)
    if (listen === null) this.#listening.resolve()
  }

  promises(): Pick<Ingestion, 'ingested' | 'listening' | 'refused'> {
    return {
      ingested: this.#ingested.promise,
      listening: this.#listening.promise,
      refused: this.#refused.promise,
    }
  }

  onMessage(message: FromIngestion): void {
    this.#notify(message)
    if (message.type === 'listening') {
      if (message.port !== null)
        this.#logger.info(`waiting for a core on ${this.#listen!.host}:${message.port}`)
      else this.#logger.info(`following the event logs ${this.#follow.join(', ')}`)
      this.#isStarted = true
      this.#listening.resolve()
    } else if (message.type === 'refused') {
      if (this.#isStarted) this.#refused.resolve(message.message)
      else this.#listening.reject(new StoreError(message.message))
    } else if (message.type === 'ended') {
      if (message.failure === null) this.#succeed(message.report)
      else this.#fail(message.failure)
    }
  }

  /** The thread itself has failed. */
  onFailed(error: Error): void {
    if (this.#isStarted) this.#fail(error.message)
    else this.#listening.reject(listenFault(error, this.#listen!))
  }

  #succeed({ blocks, heldBlocks, height }: IngestionReport): void {
    this.#logger.info(
      `ingestion ended: ${blocks} blocks ingested, ${heldBlocks} skipped, up to block ${height ?? 'none'}`,
    )
    this.#ingested.resolve(true)
  }

  #fail(message: string): void {
    this.#notify({ type: 'failed', message })
    this.#logger.error(`ingestion stopped: ${message}`)
    this.#ingested.resolve(false)
  }
}

/** Why no core can connect: because of the event log, or of the address. */
function listenFault(error: Error, { host, port }: NonNullable<ServeSettings['listen']>): unknown {
  return isLogFault(error)
    ? new ListenError(error.message)
    : explainListenError(error, host, port, '--listen')
}

/** Bytes of blocks that are forwarded again at most, in case the receiver has lost them, unless a smaller log is kept. */
const REPEAT_BYTES = 256 * 1024 * 1024

/** The event logs that a service reads, each once, by folder or URL: its own first. The first is log 1 in messages. */
export function eventLogsOf({ listen, eventLog, follow }: ServeSettings): string[] {
  return [...new Set([...(listen === null ? [] : [eventLog]), ...follow])]
}

function liveTaskOf(settings: ServeSettings): LiveTask {
  const { store, listen, listenFrom, chain, eventLogKeep, eventLogMode, reader, buffer, forward } = settings
  const logBytes =
    eventLogKeep !== null && eventLogKeep !== 'all' && 'bytes' in eventLogKeep ? eventLogKeep.bytes : Infinity
  return {
    logs: eventLogsOf(settings),
    receiver:
      listen === null
        ? null
        : { ...listen, from: listenFrom, keep: eventLogKeep, mode: eventLogMode, buffer },
    reader: reader ?? readerName(store),
    chain,
    forward: forward === null ? null : { ...forward, repeatBytes: Math.min(REPEAT_BYTES, logBytes / 4) },
  }
}

/** The name of a store among the readers of an event log, which anyone may see. */
function readerName(store: string): string {
  const address = /^postgres(?:ql)?:/.test(store) ? withoutPassword(store) : resolve(store)
  return `store-${createHash('sha256').update(address).digest('hex').slice(0, 12)}`
}

function withoutPassword(store: string): string {
  if (!URL.canParse(store)) return store
  const url = new URL(store)
  url.password = ''
  url.searchParams.delete('password')
  return url.href
}
