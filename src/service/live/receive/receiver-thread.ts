// The thread that receives and does nothing else: it never waits for a commit.
import { parentPort, workerData } from 'node:worker_threads'
import { createLogger } from '../../log.ts'
import { LogReceiver, type ReceiverTask } from './receiver.ts'

/** Start data of the thread. */
export type ReceiverThreadTask = ReceiverTask & { logLevel: string }

export type FromReceiver =
  | { type: 'listening'; port: number }
  /** The log or the receiver's state may have changed. */
  | { type: 'changed' }

export type ToReceiver =
  /** The store has blocks of a chain. */
  { type: 'chain'; id: string } | { type: 'stop' }

const parent = parentPort!
const task = workerData as ReceiverThreadTask
const post = (message: FromReceiver) => parent.postMessage(message)

const receiver = await LogReceiver.open(task, createLogger(task.logLevel), {
  onChange: () => post({ type: 'changed' }),
  // Nobody waits for it: it ends the thread.
  onFailed: (error) =>
    process.nextTick(() => {
      throw error
    }),
})
post({ type: 'listening', port: receiver.port })

parent.on('message', (message: ToReceiver) => {
  if (message.type === 'chain') receiver.pinChain(message.id)
  else void receiver.stop().then(() => parent.close())
})
