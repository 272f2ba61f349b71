// The ingestion's thread, seen from the thread that has started it.
import { Worker } from 'node:worker_threads'
import { moduleBeside } from '#core/concurrency/module-beside'
import type { FromIngestion, IngestionThreadTask, ToIngestion } from './ingestion-thread.ts'

/** An ingestion that runs in a separate thread, so that neither readers nor the event loop wait for it. */
type RunningIngestion = {
  /** Begins to write to the store; a core is listened for from the start. */
  begin(): void
  /** Lets the running batch finish and ends the thread. */
  stop(): Promise<void>
}

/** Callbacks of the ingestion's owner. */
export type IngestionListener = {
  onMessage(message: FromIngestion): void
  /** The thread itself failed: the store cannot be opened, say. */
  onFailed(error: Error): void
}

/** Memory for the thread's young objects: rows of a batch live longer than that anyway. */
const MAX_YOUNG_MB = 12

/** Starts an ingestion in a separate thread. */
export function startIngestionThread(
  task: IngestionThreadTask,
  listener: IngestionListener,
): RunningIngestion {
  const worker = new Worker(moduleBeside(import.meta.url, 'ingestion-thread'), {
    workerData: task,
    resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB },
  })
  // Not `once` of node:events, which rejects with the error that ends the thread: that is reported by the listener.
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  worker.on('message', (message: FromIngestion) => listener.onMessage(message))
  worker.on('error', (error) => listener.onFailed(error as Error))
  const post = (message: ToIngestion) => worker.postMessage(message)
  return {
    begin: () => post('begin'),
    stop: async () => {
      post('stop')
      await ended
    },
  }
}
