import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { findStore } from '#core/store/open-store'
import { type Reader, type Store, StoreAwayError, StoreOutdatedError } from '#core/store/store'
import { openWaitingReader } from '#core/store/waiting-reader'
import { startRenderThreads } from '../answers/render-threads.ts'
import { rendererOf } from '../answers/renderer.ts'
import type { GrpcServer } from '../grpc/grpc-server.ts'
import type { IngestionState } from '../http/readiness.ts'
import { longReadsOf, startLongReads } from '../streams/long-reads.ts'
import { PROGRAM_VERSION } from '../version.ts'
import { type App, createApp } from './app.ts'
import { addDiskMetrics } from './disk-metrics.ts'
import type { IngestionMessage } from './ingestion.ts'
import { addIngestionMetrics } from './ingestion-metrics.ts'
import { closeServer, listen, STOP_TIMEOUT_MS } from './listen.ts'
import { isReader, type ServeSettings } from './settings.ts'

/** The part of a service that answers requests. */
export type Answering = {
  /** Address of the service, `http://127.0.0.1:3008`. */
  url: string
  /** Shows the ingestion's reports in readiness and metrics. */
  show(report: IngestionMessage): void
  /** Rejects if the store's schema is not the program's, or it cannot be read. */
  checkSchema(): Promise<void>
  /** Finishes answers in flight, for at most 10 s, and ends. */
  stop(): Promise<void>
}

/** Opens the store for reading, and answers. */
export async function startAnswering(settings: ServeSettings, log: Logger): Promise<Answering> {
  const store = findStore(settings.store)
  const warn = (message: string) => log.warn(message)
  const isReadOnly = isReader(settings)
  const reader = await openOrAwaitReader(settings, warn)
  const speaksGrpc = settings.grpc !== null
  const renderer = store.isEmbedded
    ? startRenderThreads(store.name, log, { isReadOnly, speaksGrpc })
    : rendererOf(reader)
  const longReads = store.isEmbedded ? startLongReads(store.name, log, { isReadOnly }) : longReadsOf(reader)
  const publicFault = hidePaths(store)
  /** Whether the thread that ingests and prunes has loaded its code, if there is one. */
  let haveAllRun = false
  let ingestionRuns = isReadOnly
  const state: IngestionState = {
    failure: null,
    live: null,
    maxBehindSeconds: settings.maxBehind,
    threadsRun: () => {
      const allRun = ingestionRuns && renderer.isRunning() && longReads.isRunning()
      haveAllRun ||= allRun
      return allRun
    },
    hasStarted: () => haveAllRun,
  }

  /** Loaded if it is asked for: most services speak no gRPC. */
  async function startGrpc(app: App, address: { host: string; port: number }): Promise<GrpcServer> {
    const { createGrpcServer } = await import('../grpc/grpc-server.ts')
    const { trustProxy } = settings
    const { metrics, shared } = app
    const grpc = createGrpcServer({ reader, ingestion: state, metrics, trustProxy, ...shared })
    log.info(`serving gRPC on ${await listen(grpc, address, '--grpc')}`)
    return grpc
  }

  let grpc: GrpcServer | null = null
  try {
    const app = createApp({
      reader,
      renderer,
      longReads,
      log,
      ingestion: state,
      corsOrigins: settings.corsOrigin,
      rateLimit: settings.rateLimit,
      trustProxy: settings.trustProxy,
      version: PROGRAM_VERSION,
      commitsTo: settings.store,
      storeName: store.publicName,
      cacheBytes: settings.cacheMb * 1024 * 1024,
    })
    addDiskMetrics(app.metrics, disksOf(settings))
    const count = addIngestionMetrics(app.metrics)
    if (settings.grpc !== null) grpc = await startGrpc(app, settings.grpc)
    const url = `http://${await listen(app, settings, '--port')}`
    return {
      url,
      show: (report) => {
        count(report)
        if (report.type === 'live')
          state.live = { ...report.state, failures: report.state.failures.map(publicFault) }
        else if (report.type === 'failed') state.failure = publicFault(report.message)
        else if (report.type === 'running') ingestionRuns = true
      },
      checkSchema: reader.checkSchema,
      stop: async () => {
        await Promise.all([closeServer(app), grpc?.close(STOP_TIMEOUT_MS)])
        await Promise.all([renderer.close(), longReads.close()])
        await reader.close()
      },
    }
  } catch (error) {
    await Promise.all([grpc?.close(0), renderer.close(), longReads.close()])
    await reader.close()
    throw error
  }
}

/** The folders of a path, except of our documentation. */
const FOLDERS = /(?<![\w.:/-])(?!docs\/)[^\s'"(/]*\/(?:[^\s'"/]*\/)*/g

/**
 * The public part of a fault: without the database's address, users and file paths. Errors of a store begin with its
 * name, and the log has them in full. A database server's message may name both, too.
 */
function hidePaths({ name, isEmbedded }: Store): (fault: string) => string {
  return (fault) => {
    if (!isEmbedded && fault.includes(name)) return 'the store cannot be written to; see the log'
    return fault.replaceAll(name, 'the store').replaceAll(FOLDERS, '')
  }
}

/** The folders that a service writes to: of a SQLite file, and of the live buffer. */
function disksOf({ store, listen, buffer }: ServeSettings): Record<string, string> {
  return {
    ...(findStore(store).isEmbedded ? { store: dirname(store) } : {}),
    ...(listen === null ? {} : { buffer }),
  }
}

/** Opens the store, or waits for it if it may appear later. */
async function openOrAwaitReader(
  settings: ServeSettings,
  onNotice: (message: string) => void,
): Promise<Reader> {
  const store = findStore(settings.store)
  const options = { isReadOnly: isReader(settings), onNotice }
  try {
    return await store.openReader(options)
  } catch (error) {
    // A core must be able to connect even if a database is unreachable.
    const mayWait = error instanceof StoreAwayError && settings.listen !== null
    if (!mayWait && !(isReader(settings) && isWaitedFor(error))) throw error
    onNotice(`${(error as Error).message}; waiting`)
    return openWaitingReader(store, options)
  }
}

/** A reader may be started before the store's database, and before its writer has created or upgraded the store. */
function isWaitedFor(error: unknown): boolean {
  return error instanceof StoreAwayError || error instanceof StoreOutdatedError
}
