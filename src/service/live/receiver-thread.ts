import { parentPort, workerData } from 'node:worker_threads'
import { createLogger } from '../log.ts'
import { createAllowList } from './allow-list.ts'
import { takeFolder } from './buffer-folder.ts'
import { CoreQueue, describeQueue } from './core-queue.ts'
import { type BufferPosition, bufferPaths, createEventBuffer } from './event-buffer.ts'
import { startForwarding } from './forward/start-forwarding.ts'
import { createIntake } from './intake.ts'
import { ProtocolUpgrade } from './protocol-upgrade.ts'
import type { FromReceiver, ReceiverTask, ToReceiver } from './receiver.ts'
import { readOpenBlock, repairLastFile } from './repair.ts'

/** A buffer file is followed by another one at this size. */
const MAX_FILE_BYTES = 64 * 1024 * 1024

const REPORT_INTERVAL_MS = 1_000

const parent = parentPort!
const task = workerData as ReceiverTask
const post = (message: FromReceiver) => parent.postMessage(message)

const log = createLogger(task.logLevel)
const leaveFolder = takeFolder(task.buffer)
const forwarding =
  task.forward === null
    ? null
    : startForwarding(task.forward, { buffer: task.buffer, logLevel: task.logLevel, log })
const left = bufferPaths(task.buffer)
const last = left.at(-1)
const cut = last === undefined ? null : await repairLastFile(last, left.slice(0, -1))
if (cut !== null) {
  log.warn(`${last}: removed ${cut.bytes} bytes after the last complete event; they are in ${cut.keptIn}`)
}
const buffer = createEventBuffer({
  folder: task.buffer,
  archive: task.archive,
  maxFileBytes: Math.min(MAX_FILE_BYTES, (task.forward?.limitBytes ?? Number.POSITIVE_INFINITY) / 16),
  log,
  onFile: (file) => post({ type: 'file', file }),
  follower: forwarding?.follower ?? null,
})
const upgrade = new ProtocolUpgrade({
  folder: task.buffer,
  log,
  forwards: forwarding !== null,
  send: (message) => intake.send(message),
  onChange: (pending) => {
    forwarding?.upgrade(pending)
    report()
  },
})
const intake = createIntake({
  buffer,
  chain: task.chain,
  log,
  onChange: report,
  onUpgrade: (height, chainId, event) => upgrade.announced(height, chainId, event),
  onBegun: (height) => upgrade.begun(height),
  onConnected: () => upgrade.connected(),
})
intake.resume(await readOpenBlock(bufferPaths(task.buffer)))
forwarding?.onReady((height, answer) => upgrade.receiverReady(height, answer))
forwarding?.upgrade(upgrade.pending)

const coreQueue = new CoreQueue()

function report(): void {
  const { failure, ...state } = intake.state
  const { fault } = buffer
  const writeFault = fault === null ? null : `${fault}; ${describeQueue(coreQueue.secondsLeft)}`
  const failures = [writeFault, failure].filter((some) => some !== null)
  const forward = forwarding?.state() ?? null
  post({
    type: 'state',
    state: {
      ...state,
      failures,
      bufferedBytes: buffer.bytes,
      queueSeconds: coreQueue.secondsLeft,
      forward,
      upgrade: upgrade.state,
    },
  })
}

const port = await intake.listen({ host: task.host, port: task.port, allowed: createAllowList(task.from) })
post({ type: 'listening', port })
report()
const timer = setInterval(() => {
  intake.logFaults()
  upgrade.upkeep()
  coreQueue.sample(intake.state.received, buffer.fault !== null)
  report()
}, REPORT_INTERVAL_MS)
forwarding?.start()

async function stop(committedUpTo: BufferPosition | null): Promise<void> {
  if (buffer.fault !== null)
    log.warn(
      'the service ends once the event buffer can be written: killed before that, it loses events of the core',
    )
  await intake.close()
  await buffer.close()
  if (committedUpTo !== null) buffer.release(committedUpTo)
  await forwarding?.stop()
  clearInterval(timer)
  leaveFolder()
  report()
  parent.close()
}

parent.on('message', (message: ToReceiver) => {
  switch (message.type) {
    case 'opened':
      intake.pinChain(message.chainId)
      upgrade.committed(message.height)
      break
    case 'committed':
      intake.committed(message)
      upgrade.committed(message.height)
      break
    case 'release':
      buffer.release(message.before)
      break
    case 'stop':
      void stop(message.committedUpTo)
      break
    default:
      message satisfies never
  }
})
