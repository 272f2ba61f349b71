import { parentPort, workerData } from 'node:worker_threads'
import { MissingHistoryError } from '../blocks/block.ts'
import type { LeftOutReason } from '../events/decode.ts'
import { createLogger } from '../log.ts'
import { findEventFiles } from '../records/event-paths.ts'
import { noEventsError } from '../records/read-records.ts'
import { keepPruned } from '../store/keep-pruned.ts'
import { findStore } from '../store/open-store.ts'
import { yieldToOthers } from '../yield-to-others.ts'
import { leftOutLogger, takeIn } from './ingest-files.ts'
import { type LiveOptions, type LiveState, startLiveIntake } from './live/live-intake.ts'
import type { IntakeReport } from './report.ts'

/** What a live intake is told (ingest/live/live-intake.ts). */
export type LiveTask = Pick<LiveOptions, 'host' | 'port' | 'from' | 'chain' | 'buffer' | 'archive'>

/** What a worker is started with. */
export type WorkerTask = {
  store: string
  paths: string[]
  /** Where to listen for a core, and what to do with the buffer; null: not at all. */
  live: LiveTask | null
  /** How much older than the last block rows may get before they are taken out, nanoseconds; null: any. */
  keep: bigint | null
  allowGap: boolean
  strict: boolean
  logLevel: string
}

type LeftOutCounts = Partial<Record<LeftOutReason, number>>

type ReadTotals = { records: number; leftOut: LeftOutCounts }

/** What a worker says while it works. `read` counts since the last message of its kind. */
export type WorkerMessage =
  | { type: 'read'; records: number; leftOut: LeftOutCounts }
  | { type: 'committed' }
  | { type: 'ended'; report: IntakeReport; failure: string | null }
  | { type: 'listening'; port: number }
  | { type: 'live'; state: LiveState }

const port = parentPort!
const task = workerData as WorkerTask
const say = (message: WorkerMessage) => port.postMessage(message)

// Readers come first.
yieldToOthers()

const stop = new AbortController()
port.on('message', () => stop.abort())

const log = createLogger(task.logLevel)
const store = findStore(task.store)
let read: ReadTotals = { records: 0, leftOut: {} }
let told: ReadTotals = read

/** Says what has been read since the last time. */
function sayRead(): void {
  const leftOut: LeftOutCounts = {}
  for (const [name, count] of Object.entries(read.leftOut)) {
    const reason = name as LeftOutReason
    leftOut[reason] = count - (told.leftOut[reason] ?? 0)
  }
  say({ type: 'read', records: read.records - told.records, leftOut })
  told = read
}

async function takeFilesIn(): Promise<void> {
  const writer = await store.openWriter({ signal: stop.signal, onNotice: (message) => log.warn(message) })
  try {
    const input = findEventFiles(task.paths)
    const { report, failure: stopped } = await takeIn({
      input,
      writer,
      log,
      allowGap: task.allowGap,
      strict: task.strict,
      signal: stop.signal,
      onProgress: ({ records, leftOut }) => {
        read = { records, leftOut: Object.fromEntries(leftOut) }
      },
      onCommit: () => {
        sayRead()
        say({ type: 'committed' })
      },
    })
    read = report
    sayRead()
    // Missing history keeps nothing from going on.
    const isOnlyHistory = stopped instanceof MissingHistoryError
    if (isOnlyHistory) log.warn(stopped.message)
    const failure = isOnlyHistory ? null : (stopped ?? noEventsError(input.files, report))
    say({ type: 'ended', report, failure: failure?.message ?? null })
  } finally {
    await writer.close()
  }
}

async function startLive(live: LiveTask) {
  const leftOut = leftOutLogger(log)
  return startLiveIntake({
    ...live,
    store,
    log,
    allowGap: task.allowGap,
    strict: task.strict,
    signal: stop.signal,
    onState: (state) => say({ type: 'live', state }),
    onCommit: () => say({ type: 'committed' }),
    onLeftOut: (reason, place) => {
      say({ type: 'read', records: 0, leftOut: { [reason]: 1 } })
      leftOut(reason, place)
    },
  })
}

async function takeEventsIn(): Promise<void> {
  // The core may dial in at once: what it sends waits in the buffer.
  const live = task.live === null ? null : await startLive(task.live)
  if (live !== null) say({ type: 'listening', port: live.port })
  if (task.paths.length > 0) await takeFilesIn()
  await live?.run()
}

try {
  const { keep } = task
  const keeping = keep === null ? null : keepPruned({ store, keep, log, signal: stop.signal })
  await Promise.all([takeEventsIn(), keeping])
} finally {
  port.close()
}
