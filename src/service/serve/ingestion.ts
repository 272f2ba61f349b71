import { join } from 'node:path'
import type { Logger } from 'pino'
import { StoreError } from '#core/store/errors'
import { BUFFER_FAULT } from '../live/buffer-folder.ts'
import { startIngestionWorker } from '../live/start-worker.ts'
import type { WorkerMessage } from '../live/worker.ts'
import { explainListenError, ListenError } from './listen.ts'
import type { ServeSettings } from './settings.ts'

type Ingestion = {
  /** Resolves once the named event files have been ingested, or ingestion has failed: with whether they were. */
  ingested: Promise<boolean>
  /** Resolves once a core may connect, if one is waited for. Rejects with an error that ends the start. */
  listening: Promise<void>
  /** Begins to write to the store, which must exist and be up to date. */
  begin(): void
  /** Resolves with the reason once the store does not let this user write. */
  refused: Promise<string>
  stop(): Promise<void>
}

/** What an ingestion reports while it works: plain data, since it comes from another thread. */
export type IngestionMessage = WorkerMessage | { type: 'failed'; message: string }

/** Starts the configured ingestion, which reports its progress to `notify`. */
export function startIngestion(
  settings: ServeSettings,
  log: Logger,
  notify: (report: IngestionMessage) => void,
): Ingestion {
  const { store, listen, paths, keep, allowGap, strict, logLevel } = settings
  const ingested = Promise.withResolvers<boolean>()
  const listening = Promise.withResolvers<void>()
  const refused = Promise.withResolvers<string>()
  /** Until a core may connect, a failure makes the whole start fail. */
  let isStarted = listen === null
  if (paths.length === 0) ingested.resolve(true)
  if (listen === null) listening.resolve()
  const promises = { ingested: ingested.promise, listening: listening.promise, refused: refused.promise }
  if (paths.length === 0 && listen === null && keep === null)
    return { ...promises, begin: () => {}, stop: async () => {} }

  function onMessage(message: WorkerMessage): void {
    notify(message)
    if (message.type === 'listening') {
      log.info(`waiting for a core on ${listen!.host}:${message.port}`)
      isStarted = true
      listening.resolve()
    } else if (message.type === 'refused') {
      if (isStarted) refused.resolve(message.message)
      else listening.reject(new StoreError(message.message))
    } else if (message.type === 'ended' && message.failure !== null) {
      fail(message.failure)
    } else if (message.type === 'ended') {
      const { report } = message
      log.info(
        `ingestion ended: ${report.blocks} blocks ingested, ${report.heldBlocks} skipped, up to block ${report.height ?? 'none'}`,
      )
      ingested.resolve(true)
    }
  }

  function onFailed(error: Error): void {
    if (isStarted) fail(error.message)
    else {
      const { host, port } = listen!
      const isOfBuffer = (error as NodeJS.ErrnoException).code === BUFFER_FAULT
      listening.reject(
        isOfBuffer ? new ListenError(error.message) : explainListenError(error, host, port, '--listen'),
      )
    }
  }

  function fail(message: string): void {
    notify({ type: 'failed', message })
    log.error(`ingestion stopped: ${message}`)
    ingested.resolve(false)
  }

  const live = listen === null ? null : { ...listen, ...liveTaskOf(settings) }
  const task = { store, paths, live, keep, allowGap, strict, logLevel }
  return { ...promises, ...startIngestionWorker(task, { onMessage, onFailed }) }
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
