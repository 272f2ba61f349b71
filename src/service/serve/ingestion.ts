import { join } from 'node:path'
import type { Logger } from 'pino'
import { StoreError } from '#core/store/store'
import { BUFFER_FAULT } from '../live/buffer-folder.ts'
import { startIngestionWorker } from '../live/start-worker.ts'
import type { WorkerMessage } from '../live/worker.ts'
import { explainListenError, ListenError } from './listen.ts'
import type { ServeSettings } from './settings.ts'

export type Ingestion = {
  /** Settles once the event files named have been ingested, or have failed to be: with whether they were. */
  ingested: Promise<boolean>
  /** Resolves once a core may dial in, if one is waited for. */
  listening: Promise<void>
  /** Begins to write to the store, which must be there and up to date. */
  begin(): void
  /** Resolves with the reason once the store refuses to be written to by this user. */
  refused: Promise<string>
  stop(): Promise<void>
}

/** What an ingestion reports while it works: plain data, which may go to another process. */
export type IngestionNews = WorkerMessage | { type: 'failed'; message: string }

/** Starts the configured ingestion, which reports its progress to `notify`. */
export function startIngestion(
  settings: ServeSettings,
  log: Logger,
  notify: (news: IngestionNews) => void,
): Ingestion {
  const { store, listen, paths, keep, allowGap, strict, logLevel } = settings
  const progress = new ThreadProgress(settings, log, notify)
  const { promises } = progress
  if (paths.length === 0 && listen === null && keep === null)
    return { ...promises, begin: () => {}, stop: async () => {} }
  const live = listen === null ? null : { ...listen, ...liveTaskOf(settings) }
  const worker = startIngestionWorker({ store, paths, live, keep, allowGap, strict, logLevel }, progress)
  return { ...promises, ...worker }
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

/** Passes on the reports of an ingestion's thread, and settles the promises that wait for it. */
class ThreadProgress {
  readonly #log: Logger
  readonly #notify: (news: IngestionNews) => void
  readonly #listen: ServeSettings['listen']
  readonly #ingested = Promise.withResolvers<boolean>()
  readonly #listening = Promise.withResolvers<void>()
  readonly #refused = Promise.withResolvers<string>()
  /** Until a core may connect, a failure is one of the whole start. */
  #isStarted: boolean

  constructor({ paths, listen }: ServeSettings, log: Logger, notify: (news: IngestionNews) => void) {
    this.#log = log
    this.#notify = notify
    this.#listen = listen
    this.#isStarted = listen === null
    if (paths.length === 0) this.#ingested.resolve(true)
    if (listen === null) this.#listening.resolve()
  }

  get promises(): Omit<Ingestion, 'begin' | 'stop'> {
    const [ingested, listening, refused] = [this.#ingested, this.#listening, this.#refused]
    return { ingested: ingested.promise, listening: listening.promise, refused: refused.promise }
  }

  readonly onMessage = (message: WorkerMessage): void => {
    this.#notify(message)
    if (message.type === 'listening') {
      this.#log.info(`waiting for a core on ${this.#listen!.host}:${message.port}`)
      this.#isStarted = true
      this.#listening.resolve()
    } else if (message.type === 'refused') {
      if (this.#isStarted) this.#refused.resolve(message.message)
      else this.#listening.reject(new StoreError(message.message))
    } else if (message.type === 'ended' && message.failure !== null) {
      this.#fail(message.failure)
    } else if (message.type === 'ended') {
      const { report } = message
      this.#log.info(
        `ingestion ended: ${report.blocks} blocks ingested, ${report.heldBlocks} skipped, up to block ${report.height ?? 'none'}`,
      )
      this.#ingested.resolve(true)
    }
  }

  readonly onFailed = (error: Error): void => {
    if (this.#isStarted) this.#fail(error.message)
    else {
      const { host, port } = this.#listen!
      const isOfBuffer = (error as NodeJS.ErrnoException).code === BUFFER_FAULT
      this.#listening.reject(
        isOfBuffer ? new ListenError(error.message) : explainListenError(error, host, port, '--listen'),
      )
    }
  }

  #fail(message: string): void {
    this.#notify({ type: 'failed', message })
    this.#log.error(`ingestion stopped: ${message}`)
    this.#ingested.resolve(false)
  }
}
