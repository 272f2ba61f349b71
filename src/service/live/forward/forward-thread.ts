// The thread that forwards and does nothing else.
import { parentPort, workerData } from 'node:worker_threads'
import { createLogger } from '../../log.ts'
import type { ForwardTask, FromForwarder, ToForwarder } from './forward-state.ts'
import { Forwarder } from './forwarder.ts'

const port = parentPort!
const task = workerData as ForwardTask
const stop = new AbortController()

port.on('message', (message: ToForwarder) => {
  if (message.type === 'stop') stop.abort()
})

const forwarder = new Forwarder(task, createLogger(task.logLevel), (state) =>
  port.postMessage({ type: 'state', state } satisfies FromForwarder),
)
await forwarder.run(stop.signal)
port.close()
