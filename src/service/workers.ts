import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { AggregatorRegistry } from 'prom-client'
import { listenForCommits } from '../commits.ts'
import { moduleBeside } from '../module-beside.ts'
import type { Answering } from './answering.ts'
import type { IngestionNews } from './ingestion.ts'
import { ListenError } from './listen.ts'
import type { ServeSettings } from './settings.ts'

/** Messages to a worker process. */
export type ToWorker =
  | { type: 'start'; settings: ServeSettings }
  | { type: 'news'; news: IngestionNews }
  | { type: 'committed' }
  | { type: 'stop' }
  | { type: 'metrics'; id: number; text: string | null }

/** Messages from a worker process. */
export type FromWorker =
  | { type: 'answering'; url: string }
  | { type: 'failed'; message: string; isListening: boolean }
  | { type: 'metrics?'; id: number }

/** A worker that ends sooner after its start is not replaced at once. */
const SHORTEST_LIFE_MS = 1_000

/**
 * Answers with several processes on one port; connections are distributed in turn. A process that ends unexpectedly is
 * replaced.
 *
 * @throws the error of the first process that could not start.
 */
export async function startWorkers(settings: ServeSettings, log: Logger): Promise<Answering> {
  const workers = new Workers(settings, log)
  try {
    const url = await workers.startOne()
    await Promise.all(Array.from({ length: settings.workers - 1 }, () => workers.startOne()))
    return { url, show: (news) => workers.show(news), stop: () => workers.stop() }
  } catch (error) {
    await workers.stop()
    throw error
  }
}

class Workers {
  readonly #settings: ServeSettings
  readonly #log: Logger
  readonly #metrics = new AggregatorRegistry()
  /** The last news of each kind that describes the ingestion: for processes that start later. */
  readonly #latest = new Map<IngestionNews['type'], IngestionNews>()
  readonly #running = new Set<Worker>()
  readonly #stopListening: () => void
  #isStopping = false

  constructor(settings: ServeSettings, log: Logger) {
    this.#settings = settings
    this.#log = log
    cluster.setupPrimary({
      exec: fileURLToPath(moduleBeside(import.meta.url, 'worker')),
      args: [],
      serialization: 'advanced',
    })
    this.#stopListening = listenForCommits(settings.store, () => this.#sendAll({ type: 'committed' }))
  }

  /** Starts a process; resolves with the URL once it answers. */
  startOne(): Promise<string> {
    const startedAt = performance.now()
    const worker = cluster.fork()
    this.#running.add(worker)
    // Port 0 is the same free port to all of them.
    send(worker, { type: 'start', settings: this.#settings })
    return new Promise((resolve, reject) => {
      worker.once('exit', (code, signal) => {
        this.#running.delete(worker)
        reject(new Error('a worker ended at its start'))
        if (this.#isStopping) return
        this.#log.error(`worker ${worker.process.pid} ended (${signal ?? code})`)
        setTimeout(
          () => this.#replace(),
          performance.now() - startedAt < SHORTEST_LIFE_MS ? SHORTEST_LIFE_MS : 0,
        )
      })
      worker.on('message', (message: FromWorker) => {
        if (message.type === 'metrics?') return void this.#sendMetrics(worker, message.id)
        if (message.type === 'answering') {
          for (const news of this.#latest.values()) send(worker, { type: 'news', news })
          return resolve(message.url)
        }
        reject(message.isListening ? new ListenError(message.message) : new Error(message.message))
        // It has nothing to answer with: another one is started in its place.
        send(worker, { type: 'stop' })
      })
    })
  }

  show(news: IngestionNews): void {
    if (news.type !== 'read') this.#latest.set(news.type, news)
    this.#sendAll({ type: 'news', news })
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#stopListening()
    const gone = [...this.#running].map((worker) => once(worker, 'exit'))
    this.#sendAll({ type: 'stop' })
    await Promise.all(gone)
  }

  #replace(): void {
    if (this.#isStopping) return
    this.startOne().catch((error: Error) => this.#log.error(`no new worker: ${error.message}`))
  }

  async #sendMetrics(worker: Worker, id: number): Promise<void> {
    const text = await this.#metrics.clusterMetrics().catch((error: Error) => {
      this.#log.error(`no metrics: ${error.message}`)
      return null
    })
    send(worker, { type: 'metrics', id, text })
  }

  #sendAll(message: ToWorker): void {
    for (const worker of this.#running) send(worker, message)
  }
}

function send(worker: Worker, message: ToWorker): void {
  // One that ends just now cannot be told: without a callback that would end this process.
  if (worker.isConnected()) worker.send(message, () => {})
}
