// The thread that ingests: named files first, then event logs. It also prunes.
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { MissingHistoryError } from '#core/blocks/block'
import { yieldToOthers } from '#core/concurrency/yield-to-others'
import type { LeftOutReason } from '#core/events/left-out'
import { ingestFiles, leftOutLogger } from '#core/ingest/ingest-files'
import type { IngestionReport } from '#core/ingest/report'
import { findEventInput } from '#core/log/event-input'
import { StoreAwayError, StoreRefusedError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import { keepPruned } from '#core/store/pruning/keep-pruned'
import type { Writer } from '#core/store/store'
import { commitAnnouncer } from '../commits.ts'
import { createLogger } from '../log.ts'
import { type LiveIngestion, type LiveTask, startLiveIngestion } from './live-ingestion.ts'
import type { LiveState } from './state/live-state.ts'

/** What the thread is to do. */
export type IngestionThreadTask = {
  store: string
  paths: string[]
  /** Where to listen for a core, and which event logs to read; null: none. */
  live: LiveTask | null
  /** How much older than the last block rows may get before they are pruned, nanoseconds; null: any. */
  keep: bigint | null
  allowGap: boolean
  strict: boolean
  logLevel: string
}

type LeftOutCounts = Partial<Record<LeftOutReason, number>>

type ReadTotals = { records: number; leftOut: LeftOutCounts }

/** Messages of the thread. `read` counts since the last message of its kind. */
export type FromIngestion =
  /** All code is loaded. */
  | { type: 'running' }
  | { type: 'read'; records: number; leftOut: LeftOutCounts }
  | { type: 'ended'; report: IngestionReport; failure: string | null }
  /** Blocks of the event logs are waited for; `port`: that for a core, if one is waited for here. */
  | { type: 'listening'; port: number | null }
  /** A store that is to take a core's blocks refuses this user: the message says how. */
  | { type: 'refused'; message: string }
  | { type: 'live'; state: LiveState }
  | { type: 'standby'; isStandby: boolean }
  | { type: 'pruned'; hasFailed: boolean }

/** Messages to the thread. */
export type ToIngestion = 'begin' | 'stop'

/** How often to retry an unreachable store, milliseconds. */
const AWAY_MS = 1_000

const port = parentPort!
const task = workerData as IngestionThreadTask
const { paths, allowGap, strict, logLevel } = task
const post = (message: FromIngestion) => port.postMessage(message)

const stop = new AbortController()
const { signal } = stop
const begun = Promise.withResolvers<void>()
port.on('message', (message: ToIngestion) => {
  if (message === 'stop') stop.abort()
  begun.resolve()
})

const logger = createLogger(logLevel)
const store = await findStore(task.store)
await store.load?.()
post({ type: 'running' })
const commits = commitAnnouncer(task.store)

const onStandby = (isStandby: boolean) => post({ type: 'standby', isStandby })

/** Tells what was read of named files since it was told last. */
class ReadProgress {
  #told: ReadTotals = { records: 0, leftOut: {} }

  tell(total: ReadTotals): void {
    const leftOut: LeftOutCounts = {}
    for (const [name, count] of Object.entries(total.leftOut)) {
      const reason = name as LeftOutReason
      leftOut[reason] = count - (this.#told.leftOut[reason] ?? 0)
    }
    post({ type: 'read', records: total.records - this.#told.records, leftOut })
    this.#told = total
  }
}

/** Opens the store for writing; with live ingestion, waits for an unreachable store. Null once it is stopped. */
async function openWriter(): Promise<Writer | null> {
  while (!signal.aborted) {
    try {
      return await store.openWriter({
        signal,
        onNotice: (message) => logger.warn(message),
        onStandby,
      })
    } catch (error) {
      if (task.live === null || !(error instanceof StoreAwayError)) throw error
      await sleep(AWAY_MS, undefined, { signal }).catch(() => {})
    }
  }
  return null
}

async function ingestNamedFiles(): Promise<void> {
  const writer = await openWriter()
  if (writer === null) return
  const progress = new ReadProgress()
  let read: ReadTotals = { records: 0, leftOut: {} }
  let ended: FromIngestion
  try {
    const input = findEventInput(paths)
    const { report, failure } = await ingestFiles({
      input,
      writer,
      logger,
      allowGap,
      strict,
      signal,
      onProgress: ({ records, leftOut }) => {
        read = { records, leftOut: Object.fromEntries(leftOut) }
      },
      onCommit: () => {
        progress.tell(read)
        commits.announce()
      },
    })
    progress.tell(report)
    // Missing history is no reason to stop.
    const isOnlyHistory = failure instanceof MissingHistoryError
    if (isOnlyHistory) logger.warn(failure.message)
    ended = { type: 'ended', report, failure: isOnlyHistory ? null : (failure?.message ?? null) }
  } finally {
    await writer.close()
  }
  // Only now all of it is on disk.
  post(ended)
}

function startLive(live: LiveTask): Promise<LiveIngestion> {
  const leftOut = leftOutLogger(logger)
  return startLiveIngestion(
    live,
    { store, logger, logLevel, allowGap, strict, signal },
    {
      onStandby,
      onState: (state) => post({ type: 'live', state }),
      onCommit: commits.announce,
      onLeftOut: (reason, position) => {
        post({ type: 'read', records: 0, leftOut: { [reason]: 1 } })
        leftOut(reason, position)
      },
    },
  )
}

async function ingestEvents(): Promise<void> {
  // The core may connect at once: its events wait in the event log.
  const live = task.live === null ? null : await startLive(task.live)
  if (live !== null) post({ type: 'listening', port: live.port })
  await begun.promise
  // Readers come first, but only where no core's events can be lost meanwhile.
  if (live === null) yieldToOthers()
  if (paths.length > 0) await ingestNamedFiles()
  await live?.run()
}

async function pruneRegularly(keep: bigint): Promise<void> {
  await begun.promise
  const onAttempt = (hasFailed: boolean) => post({ type: 'pruned', hasFailed })
  await keepPruned({ store, keep, logger, signal, onAttempt })
}

try {
  await Promise.all([ingestEvents(), task.keep === null ? null : pruneRegularly(task.keep)])
} catch (error) {
  stop.abort()
  const { cause } = error as Error
  const refusal = [error, cause].find((some) => some instanceof StoreRefusedError)
  if (task.live === null || refusal === undefined) throw error
  post({ type: 'refused', message: refusal.message })
} finally {
  commits.close()
  port.close()
}
