import { join } from 'node:path'
import type { Logger } from 'pino'
import type { IngestionReport } from '#core/ingest/report'
import { StoreError } from '#core/store/errors'
import { BUFFER_FAULT } from '../live/buffer-folder.ts'
import { type IngestionListener, startIngestionWorker } from '../live/start-worker.ts'
import type { WorkerMessage } from '../live/worker.ts'
import { explainListenError, ListenError } from './listen.ts'
import type { ServeSettings } from './settings.ts'

/** What an ingestion reports while it works: plain data, since it comes from another thread. */
export type IngestionMessage = WorkerMessage | { type: 'failed'; message: string }

/** A service's ingestion. */
export type Ingestion = {
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
  log: Logger,
  notify: (report: IngestionMessage) => void,
): Ingestion {
  const { store, listen, paths, keep, allowGap, strict, logLevel } = settings
  const progress = new IngestionProgress(settings, log, notify)
  const promises = progress.promises()
  if (paths.length === 0 && listen === null && keep === null)
    return { ...promises, begin: () => {}, stop: async () => {} }
  const live = listen === null ? null : { ...listen, ...liveTaskOf(settings) }
  const task = { store, paths, live, keep, allowGap, strict, logLevel }
  return { ...promises, ...startIngestionWorker(task, progress) }
}

/** Follows the messages of the ingestion's thread: logs them, and settles the promises of an {@link Ingestion}. */
class IngestionProgress implements IngestionListener {
  readonly #listen: ServeSettings['listen']
  readonly #log: Logger
  readonly #notify: (report: IngestionMessage) => void
  readonly #ingested = Promise.withResolvers<boolean>()
  readonly #listening = Promise.withResolvers<void>()
  readonly #refused = Promise.withResolvers<string>()
  /** Whether a core may connect, if one is waited for. Until then a failure makes the whole start fail. */
  #isStarted: boolean

  constructor({ listen, paths }: ServeSettings, log: Logger, notify: (report: IngestionMessage) => void) {
    this.#listen = listen
    this.#log = log
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

  onMessage(message: WorkerMessage): void {
    this.#notify(message)
    if (message.type === 'listening') {
      this.#log.info(`waiting for a core on ${this.#listen!.host}:${message.port}`)
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
    this.#log.info(
      `ingestion ended: ${blocks} blocks ingested, ${heldBlocks} skipped, up to block ${height ?? 'none'}`,
    )
    this.#ingested.resolve(true)
  }

  #fail(message: string): void {
    this.#notify({ type: 'failed', message })
    this.#log.error(`ingestion stopped: ${message}`)
    this.#ingested.resolve(false)
  }
}

/** Why no core can connect: because of the folder of the buffer, or of the address. */
function listenFault(error: Error, { host, port }: NonNullable<ServeSettings['listen']>): unknown {
  const isOfBuffer = (error as NodeJS.ErrnoException).code === BUFFER_FAULT
  return isOfBuffer ? new ListenError(error.message) : explainListenError(error, host, port, '--listen')
}

function liveTaskOf({ listenFrom, chain, buffer, keepBuffer, forward, forwardMb }: ServeSettings) {
  return {
    from: listenFrom,
    chain,
    buffer,
    archive: keepBuffer ? join(buffer, 'archive') : null,
    forward: forward === null ? null : { ...forward, limitBytes: forwardMb * 1024 * 1024 },
  }
}
