import { join } from 'node:path'
import type { Logger } from 'pino'
import { startIngestionWorker } from '../ingest/start-worker.ts'
import type { WorkerMessage } from '../ingest/worker.ts'
import { StoreError } from '../store/store.ts'
import { explainListenError } from './listen.ts'
import type { ServeSettings } from './settings.ts'

export type Ingestion = {
  /** Settles once the event files named have been ingested, or have failed to be: with whether they were. */
  ingested: Promise<boolean>
  /** Resolves once a core may dial in, if one is waited for. */
  listening: Promise<void>
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
  const { listen: live, paths, keep } = settings
  const ingested = Promise.withResolvers<boolean>()
  const listening = Promise.withResolvers<void>()
  const refused = Promise.withResolvers<string>()
  if (paths.length === 0) ingested.resolve(true)
  if (live === null) listening.resolve()
  if (paths.length === 0 && live === null && keep === null) {
    const stop = async () => {}
    return { ingested: ingested.promise, listening: listening.promise, refused: refused.promise, stop }
  }
  const fail = (message: string) => {
    notify({ type: 'failed', message })
    log.error(`ingestion stopped: ${message}`)
    ingested.resolve(false)
  }
  const onMessage = (message: WorkerMessage) => {
    notify(message)
    if (message.type === 'listening') {
      log.info(`waiting for a core on ${live!.host}:${message.port}`)
      listening.resolve()
    } else if (message.type === 'refused') {
      if (started) refused.resolve(message.message)
      else listening.reject(new StoreError(message.message))
    } else if (message.type === 'ended') {
      const { report, failure } = message
      if (failure !== null) return fail(failure)
      log.info(
        `ingestion ended: ${report.blocks} blocks ingested, ${report.heldBlocks} skipped, up to block ${report.height ?? 'none'}`,
      )
      ingested.resolve(true)
    }
  }
  let started = live === null
  void listening.promise.then(
    () => {
      started = true
    },
    () => {},
  )
  const onFailed = (error: Error) => {
    // Before a core may dial in, the whole start has failed.
    if (started) fail(error.message)
    else listening.reject(explainListenError(error, live!.host, live!.port, '--listen'))
  }
  const worker = startIngestionWorker(
    {
      store: settings.store,
      paths,
      live:
        live === null
          ? null
          : {
              ...live,
              from: settings.listenFrom,
              chain: settings.chain,
              buffer: settings.buffer,
              archive: settings.keepBuffer ? join(settings.buffer, 'archive') : null,
              forward:
                settings.forward === null
                  ? null
                  : { ...settings.forward, limitBytes: settings.forwardMb * 1024 * 1024 },
            },
      keep,
      allowGap: settings.allowGap,
      strict: settings.strict,
      logLevel: settings.logLevel,
    },
    { onMessage, onFailed },
  )
  return {
    ingested: ingested.promise,
    listening: listening.promise,
    refused: refused.promise,
    stop: worker.stop,
  }
}
