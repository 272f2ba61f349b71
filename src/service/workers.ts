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
  cluster.setupPrimary({
    exec: fileURLToPath(moduleBeside(import.meta.url, 'worker')),
    args: [],
    serialization: 'advanced',
  })
  const metrics = new AggregatorRegistry()
  /** The last news of each kind that says how ingestion stands: for processes that start later. */
  const latest = new Map<IngestionNews['type'], IngestionNews>()
  const workers = new Set<Worker>()
  let isStopping = false

  const send = (worker: Worker, message: ToWorker) => {
    // One that ends just now cannot be told: without a callback that would end this process.
    if (worker.isConnected()) worker.send(message, () => {})
  }

  async function startOne(): Promise<string> {
    const startedAt = performance.now()
    const worker = cluster.fork()
    workers.add(worker)
    worker.once('exit', (code, signal) => {
      workers.delete(worker)
      if (isStopping) return
      log.error(`worker ${worker.process.pid} ended (${signal ?? code})`)
      const wait = performance.now() - startedAt < SHORTEST_LIFE_MS ? SHORTEST_LIFE_MS : 0
      setTimeout(() => {
        if (!isStopping) void startOne().catch((error: Error) => log.error(`no new worker: ${error.message}`))
      }, wait)
    })
    // Port 0 is the same free port to all of them.
    send(worker, { type: 'start', settings })
    return new Promise((resolve, reject) => {
      worker.once('exit', () => reject(new Error('a worker ended at its start')))
      worker.on('message', (message: FromWorker) => {
        switch (message.type) {
          case 'answering':
            for (const news of latest.values()) send(worker, { type: 'news', news })
            resolve(message.url)
            break
          case 'failed':
            reject(message.isListening ? new ListenError(message.message) : new Error(message.message))
            // It has nothing to answer with: another one is started in its place.
            send(worker, { type: 'stop' })
            break
          case 'metrics?':
            void metrics.clusterMetrics().then(
              (text) => send(worker, { type: 'metrics', id: message.id, text }),
              (error: Error) => {
                log.error(`no metrics: ${error.message}`)
                send(worker, { type: 'metrics', id: message.id, text: null })
              },
            )
            break
          default:
        }
      })
    })
  }

  const stopListening = listenForCommits(settings.store, () => {
    for (const worker of workers) send(worker, { type: 'committed' })
  })

  async function stop(): Promise<void> {
    isStopping = true
    stopListening()
    const gone = [...workers].map((worker) => once(worker, 'exit'))
    for (const worker of workers) send(worker, { type: 'stop' })
    await Promise.all(gone)
  }

  try {
    const url = await startOne()
    await Promise.all(Array.from({ length: settings.workers - 1 }, startOne))
    return {
      url,
      show: (news) => {
        if (news.type !== 'read') latest.set(news.type, news)
        for (const worker of workers) send(worker, { type: 'news', news })
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
