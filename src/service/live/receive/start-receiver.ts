// The receiver's thread, seen from the thread that has started it.
import { Worker } from 'node:worker_threads'
import { moduleBeside } from '#core/concurrency/module-beside'
import type { LogReceiver, Receiver } from './receiver.ts'
import type { FromReceiver, ReceiverThreadTask, ToReceiver } from './receiver-thread.ts'

/**
 * Starts a receiver in a separate thread.
 *
 * @param onChange called when the log or the receiver's state may have changed
 *
 * @throws what {@link LogReceiver.open} throws.
 */
export async function startReceiver(task: ReceiverThreadTask, onChange: () => void): Promise<Receiver> {
  const worker = new Worker(moduleBeside(import.meta.url, 'receiver-thread'), { workerData: task })
  // Not `once` of node:events, which rejects with the error that ends the thread.
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  const listening = Promise.withResolvers<number>()
  let isListening = false
  worker.on('message', (message: FromReceiver) => {
    if (message.type === 'changed') onChange()
    else {
      isListening = true
      listening.resolve(message.port)
    }
  })
  worker.on('error', (error) => {
    listening.reject(error as Error)
    // Nothing can repair this later: the thread that commits ends, too.
    if (isListening) throw error
  })
  const post = (message: ToReceiver) => worker.postMessage(message)
  return {
    port: await listening.promise,
    pinChain: (id) => post({ type: 'chain', id }),
    stop: async () => {
      post({ type: 'stop' })
      await ended
    },
  }
}
