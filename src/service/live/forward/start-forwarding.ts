// The forwarder's thread, seen from the thread that has started it.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { moduleBeside } from '#core/concurrency/module-beside'
import type { ForwardState, ForwardTask, FromForwarder, ToForwarder } from './forward-state.ts'

/** The state before the thread has sent one. */
const INITIAL_STATE: ForwardState = {
  connected: false,
  messages: 0,
  height: null,
  lagBytes: 0,
  lagBlocks: 0,
  lagSeconds: 0,
  missingBlocks: null,
  missingCount: 0,
  failure: null,
}

/** A forwarding to another receiver. */
export type Forwarding = { stop(): Promise<void> }

/**
 * Forwards the blocks of event logs, in a separate thread: nothing that goes wrong with it reaches the ingestion.
 *
 * @param onState called with each new state
 */
export function startForwarding(
  task: ForwardTask,
  logger: Logger,
  onState: (state: ForwardState) => void,
): Forwarding {
  const worker = new Worker(moduleBeside(import.meta.url, 'forward-thread'), { workerData: task })
  const ended = once(worker, 'exit').catch(() => {})
  let state = INITIAL_STATE
  worker.on('message', (message: FromForwarder) => {
    state = message.state
    onState(state)
  })
  worker.on('error', (error) => {
    logger.error(`forwarding: stopped: ${(error as Error).message}`)
    onState({ ...state, connected: false, failure: 'stopped; see the log' })
  })
  onState(state)
  return {
    stop: async () => {
      worker.postMessage({ type: 'stop' } satisfies ToForwarder)
      await ended
    },
  }
}
