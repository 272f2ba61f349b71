import { dirname } from 'node:path'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type App, createApp } from '../api/app.ts'
import type { GrpcServer } from '../api/grpc/grpc-server.ts'
import type { MetricsText } from '../api/http/metrics.ts'
import type { IngestionState } from '../api/http/readiness.ts'
import { type Maker, makerOf } from '../api/maker.ts'
import { startMakingThreads } from '../api/making-threads.ts'
import { type LongReads, longReadsOf, startLongReads } from '../api/streams/long-reads.ts'
import { findStore } from '../store/open-store.ts'
import { openReplicaReader } from '../store/replica-reader.ts'
import { type Reader, type Store, StoreAwayError } from '../store/store.ts'
import { VERSION } from '../version.ts'
import type { IngestionNews } from './ingestion.ts'
import { closeServer, listen, STOP_TIMEOUT_MS } from './listen.ts'
import type { ServeSettings } from './settings.ts'

/** The part of a service that answers requests. */
export type Answering = {
  /** Address of the service, `http://127.0.0.1:3008`. */
  url: string
  /** Shows the ingestion's reports in readiness and metrics, wherever it runs. */
  show(news: IngestionNews): void
  /** Finishes answers in flight, for at most 10 s, and ends. */
  stop(): Promise<void>
}

/** Opens the store for reading, and answers. */
export async function startAnswering(
  settings: ServeSettings,
  log: Logger,
  metricsText?: MetricsText,
): Promise<Answering & { registry: Registry }> {
  const reader = await openReader(settings, log)
  const maker = openMaker(settings, reader, log)
  const publicFault = hidePaths(findStore(settings.store))
  const longReads = openLongReads(settings, reader, log)
  const state: IngestionState = { failure: null, live: null, maxBehindSeconds: settings.maxBehind }

  /** Loaded if it is asked for: most services speak no gRPC. */
  async function startGrpc(app: App, address: { host: string; port: number }): Promise<GrpcServer> {
    const { createGrpcServer } = await import('../api/grpc/grpc-server.ts')
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
      maker,
      longReads,
      log,
      ingestion: state,
      corsOrigins: settings.corsOrigin,
      rateLimit: settings.rateLimit,
      trustProxy: settings.trustProxy,
      version: VERSION,
      storeName: findStore(settings.store).publicName,
      cacheBytes: settings.cacheMb * 1024 * 1024,
      metricsText,
      disks: disksOf(settings),
    })
    if (settings.grpc !== null) grpc = await startGrpc(app, settings.grpc)
    const url = `http://${await listen(app, settings, '--port')}`
    return {
      url,
      registry: app.metrics.registry,
      show: (news) => {
        switch (news.type) {
          case 'read':
            app.metrics.recordsIngested.inc(news.records)
            for (const [reason, count] of Object.entries(news.leftOut)) {
              app.metrics.eventsLeftOut.inc({ reason }, count)
            }
            break
          case 'live':
            state.live = { ...news.state, failure: publicFault(news.state.failure) }
            app.metrics.showLive(news.state)
            break
          case 'standby':
            app.metrics.standby.set(Number(news.isStandby))
            break
          case 'pruned':
            app.metrics.pruneFailed.set(Number(news.hasFailed))
            break
          case 'failed':
            state.failure = publicFault(news.message)
            break
          case 'ended':
          case 'listening':
          case 'refused':
            break
          default:
            news satisfies never
        }
      },
      stop: async () => {
        await Promise.all([closeServer(app), grpc?.close(STOP_TIMEOUT_MS)])
        await Promise.all([maker.close(), longReads.close()])
        await reader.close()
      },
    }
  } catch (error) {
    await Promise.all([grpc?.close(0), maker.close(), longReads.close()])
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
function hidePaths({ name, isEmbedded }: Store): (fault: string | null) => string | null {
  return (fault) => {
    if (fault === null) return null
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

async function openReader(settings: ServeSettings, log: Logger): Promise<Reader> {
  const { store, readStore, maxLag, listen } = settings
  const primary = findStore(store)
  if (readStore.length === 0) {
    try {
      return await primary.openReader({ onNotice: (message) => log.warn(message) })
    } catch (error) {
      // A core must be able to connect even if a database is unreachable.
      if (listen === null || !(error instanceof StoreAwayError)) throw error
    }
  }
  return openReplicaReader({
    primary,
    replicas: readStore.map(findStore),
    maxLag,
    waits: listen !== null,
    onNotice: (message) => log.warn(message),
  })
}

/** Whether this process itself reads the database's file: a SQLite store without replicas. */
function isReadHere({ store, readStore }: ServeSettings): boolean {
  return findStore(store).isEmbedded && readStore.length === 0
}

function openLongReads(settings: ServeSettings, reader: Reader, log: Logger): LongReads {
  return isReadHere(settings)
    ? startLongReads(settings.store, log)
    : longReadsOf(
        reader,
        (message) => log.warn(message),
        settings.readStore.length === 0 ? settings.store : null,
      )
}

function openMaker(settings: ServeSettings, reader: Reader, log: Logger): Maker {
  const { store, workers } = settings
  const here = makerOf(reader)
  if (!isReadHere(settings)) return here
  // Several processes share the work already: threads of theirs would only wake each other.
  return startMakingThreads(store, log, workers === 1 ? null : here)
}
