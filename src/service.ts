import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { type App, createApp } from './api/app.ts'
import type { CorsOrigins } from './api/cors.ts'
import type { IntakeState } from './api/readiness.ts'
import { startIntakeWorker } from './intake/start-worker.ts'
import type { WorkerMessage } from './intake/worker.ts'
import { createLogger } from './log.ts'
import { findStore } from './store/open-store.ts'
import { openReplicaReader } from './store/replica-reader.ts'
import type { Reader } from './store/store.ts'
import { VERSION } from './version.ts'

/** How long answers in flight are waited for when the service stops. */
const STOP_TIMEOUT_MS = 10_000

/** What `lyra serve` is told. */
export type ServeSettings = {
  store: string
  /** Replicas of the store to read from; none: the store itself is read. */
  readStore: string[]
  /** Blocks that a replica may be behind. */
  maxLag: number
  host: string
  port: number
  corsOrigin: CorsOrigins
  rateLimit: number | null
  trustProxy: boolean
  /** Memory for answers that may be asked for again, in MiB; 0 for none. */
  cacheMb: number
  allowGap: boolean
  strict: boolean
  logLevel: string
  /** Where to wait for a core that dials in; null: it is not waited for. */
  listen: { host: string; port: number } | null
  /** Folder of what the core has sent and the store does not hold yet. */
  buffer: string
  /** Whether what is committed is kept, in the folder `archive` of the buffer. */
  keepBuffer: boolean
  /** Seconds that the last block may be old while blocks come in live; null: any age will do. */
  maxBehind: number | null
  /** How much older than the last block rows may get before they are taken out, nanoseconds; null: any. */
  keep: bigint | null
  /** Event files to take in meanwhile. */
  paths: string[]
}

/** A service that answers. */
export type RunningService = {
  /** Where it answers, `http://127.0.0.1:3008`. */
  url: string
  /** Settles once the input named has been taken in, or failed to be; tells whether it was. */
  ingested: Promise<boolean>
  /** Answers what is in flight, at most 10 s, and ends. */
  stop(): Promise<void>
}

/** A port that cannot be listened on. */
export class ListenError extends Error {
  override name = 'ListenError'
}

/** Starts the service; SIGINT and SIGTERM stop it gracefully. */
export async function startService(settings: ServeSettings): Promise<RunningService> {
  const log = createLogger(settings.logLevel)
  const reader = await openReader(settings, log)
  const state: IntakeState = { failure: null, live: null, maxBehindSeconds: settings.maxBehind }
  const app = createApp({
    reader,
    log,
    intake: state,
    corsOrigins: settings.corsOrigin,
    rateLimit: settings.rateLimit,
    trustProxy: settings.trustProxy,
    version: VERSION,
    cacheBytes: settings.cacheMb * 1024 * 1024,
  })
  let url: string
  try {
    url = await listen(app, settings)
  } catch (error) {
    await reader.close()
    throw error
  }
  log.info(`serving ${findStore(settings.store).name} on ${url}`)
  const intake = startIntake(settings, app, state, log)
  try {
    await intake.listening
  } catch (error) {
    await closeServer(app)
    await reader.close()
    throw error
  }

  let stopping: Promise<void> | null = null
  const stop = () => {
    stopping ??= (async () => {
      await Promise.all([closeServer(app), intake.stop()])
      await reader.close()
    })()
    return stopping
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping !== null) process.exit(1)
    log.info(`${signal}: stopping`)
    void stop().then(() => process.exit(0))
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return { url, ingested: intake.ingested, stop }
}

type Intake = {
  /** Settles once the event files named have been taken in, or failed to be; tells whether they were. */
  ingested: Promise<boolean>
  /** Resolves once a core may dial in, where one is waited for. */
  listening: Promise<void>
  stop(): Promise<void>
}

/** Starts the intake of what the settings name, and keeps state and metrics up to date with it. */
function startIntake(settings: ServeSettings, app: App, state: IntakeState, log: Logger): Intake {
  const { listen: live, paths, keep } = settings
  const ingested = Promise.withResolvers<boolean>()
  const listening = Promise.withResolvers<void>()
  if (paths.length === 0) ingested.resolve(true)
  if (live === null) listening.resolve()
  if (paths.length === 0 && live === null && keep === null) {
    return { ingested: ingested.promise, listening: listening.promise, stop: async () => {} }
  }
  const fail = (message: string) => {
    state.failure = message
    log.error(`intake stopped: ${message}`)
    ingested.resolve(false)
  }
  const onMessage = (message: WorkerMessage) => {
    switch (message.type) {
      case 'read':
        app.metrics.recordsTakenIn.inc(message.records)
        for (const [reason, count] of Object.entries(message.leftOut)) {
          app.metrics.eventsLeftOut.inc({ reason }, count)
        }
        break
      case 'ended': {
        const { report, failure } = message
        if (failure !== null) return fail(failure)
        log.info(
          `intake ended: ${report.blocks} blocks taken in, ${report.heldBlocks} held already, up to block ${report.height ?? 'none'}`,
        )
        ingested.resolve(true)
        break
      }
      case 'listening':
        log.info(`waiting for a core on ${live!.host}:${message.port}`)
        listening.resolve()
        break
      case 'live':
        state.live = message.state
        app.metrics.showLive(message.state)
        break
      default:
        message satisfies never
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
  const worker = startIntakeWorker(
    {
      store: settings.store,
      paths,
      live:
        live === null
          ? null
          : {
              ...live,
              buffer: settings.buffer,
              archive: settings.keepBuffer ? join(settings.buffer, 'archive') : null,
            },
      keep,
      allowGap: settings.allowGap,
      strict: settings.strict,
      logLevel: settings.logLevel,
    },
    { onMessage, onFailed },
  )
  return { ingested: ingested.promise, listening: listening.promise, stop: worker.stop }
}

function openReader({ store, readStore, maxLag }: ServeSettings, log: Logger): Promise<Reader> {
  const primary = findStore(store)
  if (readStore.length === 0) return primary.openReader()
  return openReplicaReader({
    primary,
    replicas: readStore.map(findStore),
    maxLag,
    onNotice: (message) => log.warn(message),
  })
}

async function listen({ server }: App, { host, port }: ServeSettings): Promise<string> {
  try {
    await server.listen({ host, port })
  } catch (error) {
    throw explainListenError(error, host, port, '--port')
  }
  const address = server.server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${name}:${address.port}`
}

async function closeServer({ server }: App): Promise<void> {
  const timer = setTimeout(() => server.server.closeAllConnections(), STOP_TIMEOUT_MS)
  await server.close()
  clearTimeout(timer)
}

/** Why an address cannot be listened on, and what to do; other errors as they are. */
function explainListenError(error: unknown, host: string, port: number, flag: string): unknown {
  const causes: Record<string, string> = {
    EADDRINUSE: `the port is in use; stop what listens there or name another one with ${flag}`,
    EACCES: `no permission to listen there; name a port above 1023 with ${flag}`,
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'there is no such host',
  }
  const cause = causes[(error as NodeJS.ErrnoException).code ?? '']
  return cause === undefined ? error : new ListenError(`${host}:${port}: ${cause}`, { cause: error })
}
