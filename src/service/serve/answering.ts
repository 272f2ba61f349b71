import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { isLogUrl } from '#core/log/read/url/log-url'
import { StoreAwayError, StoreOutdatedError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import type { Reader, Store } from '#core/store/store'
import { openWaitingReader } from '#core/store/waiting-reader'
import { startRenderThreads } from '../answers/render-threads.ts'
import { type Renderer, rendererOf } from '../answers/renderer.ts'
import { SequentialRenderer } from '../answers/sequential-renderer.ts'
import type { GrpcServer } from '../grpc/grpc-server.ts'
import { type LongReads, longReadsOf } from '../streams/long-reads/long-reads.ts'
import { startLongReads } from '../streams/long-reads/start-long-reads.ts'
import { PROGRAM_VERSION } from '../version.ts'
import { type App, createApp } from './app.ts'
import { addDiskMetrics } from './disk-metrics.ts'
import { eventLogsOf, type IngestionMessage } from './ingestion.ts'
import { addIngestionMetrics } from './ingestion-metrics.ts'
import { closeServer, listen, STOP_TIMEOUT_MS } from './listen.ts'
import { ReportedIngestion } from './reported-ingestion.ts'
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
export async function startAnswering(settings: ServeSettings, logger: Logger): Promise<Answering> {
  const store = await findStore(settings.store)
  const reader = await openOrAwaitReader(settings, (message) => logger.warn(message))
  const reading = new StoreReading(store, reader, settings, logger)
  try {
    return await startServers(store, reading, settings, logger)
  } catch (error) {
    await reading.close()
    throw error
  }
}

/** What reads the store for answers: mostly threads for a store in a file, the reader itself for one of a database server. */
class StoreReading {
  readonly reader: Reader
  readonly renderer: Renderer
  readonly longReads: LongReads

  constructor(store: Store, reader: Reader, settings: ServeSettings, logger: Logger) {
    this.reader = reader
    if (store.isEmbedded) {
      const isReadOnly = isReader(settings)
      const threads = startRenderThreads(store.name, logger, {
        isReadOnly,
        speaksGrpc: settings.grpc !== null,
      })
      this.renderer = new SequentialRenderer(rendererOf(reader), threads)
      this.longReads = startLongReads(store.name, logger, { isReadOnly })
    } else {
      this.renderer = rendererOf(reader)
      this.longReads = longReadsOf(reader)
    }
  }

  threadsRun(): boolean {
    return this.renderer.isRunning() && this.longReads.isRunning()
  }

  /** Must be called after everything that reads has ended. */
  async close(): Promise<void> {
    await Promise.all([this.renderer.close(), this.longReads.close()])
    await this.reader.close()
  }
}

/** Starts to listen for clients, over HTTP and, if configured, gRPC. */
async function startServers(
  store: Store,
  reading: StoreReading,
  settings: ServeSettings,
  logger: Logger,
): Promise<Answering> {
  const { reader, renderer, longReads } = reading
  const ingestion = new ReportedIngestion({
    store,
    maxBehindSeconds: settings.maxBehind,
    isReader: isReader(settings),
    readThreadsRun: () => reading.threadsRun(),
  })
  const app = createApp({
    reader,
    renderer,
    longReads,
    logger,
    ingestion,
    corsOrigins: settings.corsOrigin,
    rateLimit: settings.rateLimit,
    trustProxy: settings.trustProxy,
    version: PROGRAM_VERSION,
    commitsTo: settings.store,
    storeName: store.publicName,
    cacheBytes: settings.cacheMb * 1024 * 1024,
    marketMetrics: settings.marketMetrics,
  })
  addDiskMetrics(app.metrics, disksOf(store, settings))
  const showInMetrics = addIngestionMetrics(app.metrics)
  const grpc = await createGrpc(app, reader, ingestion, settings)
  let url: string
  try {
    if (grpc !== null) logger.info(`serving gRPC on ${await listen(grpc, settings.grpc!, '--grpc')}`)
    url = `http://${await listen(app, settings, '--port')}`
  } catch (error) {
    await grpc?.close(0)
    throw error
  }
  return {
    url,
    show: (report) => {
      showInMetrics(report)
      ingestion.apply(report)
    },
    checkSchema: reader.checkSchema,
    stop: async () => {
      await Promise.all([closeServer(app), grpc?.close(STOP_TIMEOUT_MS)])
      await reading.close()
    },
  }
}

/** The server of gRPC, which shares its limits with that of HTTP; null if none is configured. */
async function createGrpc(
  { metrics, shared }: App,
  reader: Reader,
  ingestion: ReportedIngestion,
  { grpc, trustProxy }: ServeSettings,
): Promise<GrpcServer | null> {
  if (grpc === null) return null
  // Loaded if it is configured: most services speak no gRPC.
  const { GrpcServer } = await import('../grpc/grpc-server.ts')
  return new GrpcServer({ reader, ingestion, metrics, trustProxy, ...shared })
}

/**
 * The folders that fill while a service runs, by the label of their metrics: of a SQLite file, and of event logs on this
 * machine.
 */
function disksOf({ isEmbedded }: Store, settings: ServeSettings): Record<string, string> {
  const disks: Record<string, string> = isEmbedded ? { store: dirname(settings.store) } : {}
  for (const [index, log] of eventLogsOf(settings).entries())
    if (!isLogUrl(log)) disks[index === 0 ? 'event log' : `event log ${index + 1}`] = log
  return disks
}

/** Opens the store, or waits for it if it may appear later. */
async function openOrAwaitReader(
  settings: ServeSettings,
  onNotice: (message: string) => void,
): Promise<Reader> {
  const store = await findStore(settings.store)
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
