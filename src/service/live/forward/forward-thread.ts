import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { createLogger } from '../../log.ts'
import type { ForwardTask, FromForwarder, ToForwarder } from './forward-state.ts'
import { createForwarder } from './forwarder.ts'

const UPKEEP_MS = 1_000

const port = parentPort!
const task = workerData as ForwardTask

const stop = new AbortController()
const post = (message: FromForwarder) => port.postMessage(message)
const forwarder = createForwarder(task, createLogger(task.logLevel), {
  onState: () => post({ type: 'state', state: forwarder.state }),
  onReady: (height, answer) => post({ type: 'ready', height, answer }),
})

async function run(): Promise<void> {
  const keepUp = async () => {
    while (!stop.signal.aborted) {
      await forwarder.upkeep()
      await sleep(UPKEEP_MS, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
  await Promise.all([forwarder.run(), keepUp()])
  port.close()
}

let running: Promise<void> | null = null
port.on('message', (message: ToForwarder) => {
  switch (message.type) {
    case 'grown':
      forwarder.grown(message.number, message.safeBytes)
      break
    case 'dropped':
      forwarder.dropped(message)
      break
    case 'upgrade':
      forwarder.setUpgrade(message.upgrade)
      break
    case 'start':
      running ??= run()
      break
    case 'stop':
      stop.abort()
      forwarder.stop()
      if (running === null) port.close()
      break
    default:
      message satisfies never
  }
})
