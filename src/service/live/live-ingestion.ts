// Live ingestion as a whole: starts the receiver, the committer and the forwarder, and reports their state.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Coverage } from '#core/domain/coverage'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import type { LogSource } from '#core/log/read/log-source'
import { isLogUrl } from '#core/log/read/url/log-url'
import { UrlSource } from '#core/log/read/url/url-source'
import { StoreError } from '#core/store/errors'
import { readCoverage } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import type { Store } from '#core/store/store'
import { type CommitterOptions, type LeftOutListener, LogCommitter } from './commit/log-committer.ts'
import { StoreNotes } from './commit/store-notes.ts'
import type { ForwardState } from './forward/forward-state.ts'
import { forwarderName } from './forward/register-forwarder.ts'
import { type Forwarding, startForwarding } from './forward/start-forwarding.ts'
import type { Receiver, ReceiverSettings } from './receive/receiver.ts'
import { startReceiver } from './receive/start-receiver.ts'
import type { LiveState } from './state/live-state.ts'
import { isHeard, stateOfLogs } from './state/logs-state.ts'
import { SilentReceivers } from './state/silent-receivers.ts'

/** Wait for the store's chain before the port is opened without it, milliseconds. */
const CHAIN_WAIT_MS = 300

/** How often the state is looked at without a sign of change, and how often at most, milliseconds. */
const LOOK_MS = 1_000
const REPORT_MS = 50

/** What a service is to read, and how, by its settings. */
export type LiveTask = {
  /** Folders or URLs of the event logs to read. */
  logs: readonly string[]
  /** The receiver to start, which writes the first of them; null: other processes write them. */
  receiver: ReceiverSettings | null
  /** The name of the store among the readers of the logs. */
  reader: string
  /** The required chain of events; null: that of the store, or of an empty store's logs. */
  chain: string | null
  /** Where events are forwarded to; null: nowhere. */
  forward: { host: string; port: number; repeatBytes: number } | null
}

type LiveOptions = Omit<CommitterOptions, 'chain'> & {
  /** The level at which other threads log. */
  logLevel: string
}

/** The owner of a live ingestion. */
type LiveListener = {
  onState(state: LiveState): void
  /** Another process has become the store's writer, or is it no longer. */
  onStandby?(isStandby: boolean): void
  onCommit(coverage: Coverage): void
  onLeftOut: LeftOutListener
}

export type LiveIngestion = {
  /** The port for the core; null if other processes receive. */
  port: number | null
  /**
   * Commits the blocks of the logs, until the signal is aborted.
   *
   * @throws {StoreRefusedError} if the store rejects this user.
   */
  run(): Promise<void>
}

/**
 * Reads event logs into a store. With a receiver, this starts a thread that listens for the core and writes the first log, and
 * does nothing else: the core sends everything once.
 */
export async function startLiveIngestion(
  task: LiveTask,
  options: LiveOptions,
  listener: LiveListener,
): Promise<LiveIngestion> {
  const { logs, chain, forward } = task
  const { store, logLevel } = options
  // The receiver may tell of changes before there is an ingestion to tell: that then reads them by itself.
  let ingestion: Ingestion | null = null
  let receiver: Receiver | null = null
  if (task.receiver !== null) {
    const storeChain = chain === null ? await chainOf(store) : null
    const forwarder =
      forward === null ? null : { name: forwarderName(forward), repeatBytes: forward.repeatBytes }
    const receiverTask = { ...task.receiver, eventLog: logs[0]!, chain, storeChain, forwarder, logLevel }
    receiver = await startReceiver(receiverTask, () => ingestion?.changed())
  }
  const started = new Ingestion(receiver, task, options, listener)
  ingestion = started
  return { port: receiver?.port ?? null, run: () => started.run() }
}

/** The chain of the store, if it answers at once; null if not, or if it has none. */
async function chainOf(store: Store): Promise<string | null> {
  const coverage = readStore(store, readCoverage).catch((error: unknown) => {
    // A store that must be created or upgraded first gives its chain afterwards; with any other fault the service ends.
    if (error instanceof StoreError) return null
    throw error
  })
  const stored = await Promise.race([coverage, sleep(CHAIN_WAIT_MS, null, { ref: false })])
  return stored?.chainId ?? null
}

function sourceOf(log: string): LogSource {
  return isLogUrl(log) ? new UrlSource(log) : new FolderSource(log)
}

/** A receiver, or none, the committer and the forwarder of one service, and the state of them all. */
class Ingestion {
  readonly #reader: LogReader
  /** Null if other processes receive. */
  readonly #receiver: Receiver | null
  readonly #store: Store
  readonly #listener: LiveListener
  readonly #committer: LogCommitter
  readonly #forwarding: Forwarding | null
  readonly #notes: StoreNotes
  readonly #silentReceivers: SilentReceivers
  #forward: ForwardState | null = null
  #otherWriterSince: number | null = null
  /** Until a change is reported. */
  #reporting: NodeJS.Timeout | null = null

  constructor(receiver: Receiver | null, task: LiveTask, options: LiveOptions, listener: LiveListener) {
    const { forward, logs } = task
    const { logger, logLevel } = options
    this.#reader = new LogReader(logs.map((name) => new FollowedLog(sourceOf(name))))
    // Nothing is waited for any more, such as a slow answer of a log's server.
    options.signal.addEventListener('abort', () => this.#reader.close(), { once: true })
    this.#receiver = receiver
    this.#store = options.store
    this.#listener = listener
    this.#notes = new StoreNotes(this.#reader.logs, task.reader, logger)
    this.#silentReceivers = new SilentReceivers(this.#reader.logs, logger)
    this.#committer = new LogCommitter(
      this.#reader,
      { ...options, chain: task.chain },
      {
        isCoreConnected: () => this.#reader.logs.some((source) => isHeard(source.receiver())),
        onCoverage: (coverage) => {
          this.#receiver?.pinChain(coverage.chainId)
          this.#notes.noteStored(coverage)
        },
        onCommit: (coverage) => listener.onCommit(coverage),
        onLeftOut: (reason, position) => listener.onLeftOut(reason, position),
        onChange: () => this.#report(),
      },
    )
    this.#forwarding =
      forward === null
        ? null
        : startForwarding({ ...forward, logs: [...logs], logLevel }, logger, (state) => {
            this.#forward = state
            this.#report()
          })
  }

  /** The receiver has told of a change. */
  changed(): void {
    this.#reader.hint()
    this.#reporting ??= setTimeout(() => {
      this.#reporting = null
      this.#report()
    }, REPORT_MS)
  }

  async run(): Promise<void> {
    this.#notes.begin()
    const looking = new AbortController()
    const watch = this.#keepLooking(looking.signal)
    const refusal = await this.#committer.run().finally(() => looking.abort())
    await watch
    await this.#receiver?.stop()
    await this.#forwarding?.stop()
    this.#reader.close()
    clearTimeout(this.#reporting ?? undefined)
    this.#report()
    if (refusal !== null) throw refusal
  }

  /** Looks again and again at the logs' state and the store's writer, until the signal is aborted. */
  async #keepLooking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#lookForWriter()
      this.#lookAtLogs()
      this.#committer.lookAtWait()
      this.#notes.tryAgain()
      this.#silentReceivers.report()
      this.#report()
      await sleep(LOOK_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** The committer may wait for its store, and not look at the logs. */
  #lookAtLogs(): void {
    try {
      this.#reader.refresh()
    } catch {
      // A log of a later version: the committer ends because of it.
    }
  }

  /** Whether another process is the writer is asked, not tried: who waits for the lock would get it. */
  async #lookForWriter(): Promise<void> {
    const isStandby =
      !this.#committer.isWriter &&
      (await this.#store.hasWriter().catch(() => this.#otherWriterSince !== null))
    // It may have become the writer meanwhile.
    const since = isStandby && !this.#committer.isWriter ? (this.#otherWriterSince ?? Date.now()) : null
    if ((since === null) === (this.#otherWriterSince === null)) return
    this.#otherWriterSince = since
    this.#listener.onStandby?.(since !== null)
  }

  #report(): void {
    this.#listener.onState(this.#state())
  }

  #state(): LiveState {
    const { failure, waitReason, bytesLeft } = this.#committer
    const ofLogs = stateOfLogs(this.#reader)
    return {
      ...ofLogs,
      failures: [failure, waitReason, ...ofLogs.failures].filter((some) => some !== null),
      // The end of this service's own receiver ends the service.
      silence: this.#receiver === null ? this.#silentReceivers.silence : null,
      bytesLeft,
      forward: this.#forward,
      otherWriterSince: this.#otherWriterSince,
    }
  }
}
