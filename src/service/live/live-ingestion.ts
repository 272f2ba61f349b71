import { setTimeout as sleep } from 'node:timers/promises'
import type { Coverage } from '#core/domain/coverage'
import { NODE_DISK } from '#core/log/log-disk'
import { LocalLog } from '#core/log/read/local-log'
import { LogReader } from '#core/log/read/log-reader'
import { readReader, writeReader } from '#core/log/reader-files'
import { StoreError } from '#core/store/errors'
import { readCoverage } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import type { ForwardState } from './forward/forward-state.ts'
import { forwarderName } from './forward/register-forwarder.ts'
import { type Forwarding, startForwarding } from './forward/start-forwarding.ts'
import { type CommitterOptions, LogCommitter } from './log-committer.ts'
import { isHeard, type LogsState, silenceOf, stateOfLogs } from './logs-state.ts'
import type { Receiver, ReceiverTask } from './receiver.ts'
import { startReceiver } from './start-receiver.ts'

/** Wait for the store's chain before the port is opened without it, milliseconds. */
const CHAIN_WAIT_MS = 300

/** How often the state is looked at without a sign of change, and how often at most, milliseconds. */
const LOOK_MS = 1_000
const REPORT_MS = 50

/** The state of a live ingestion. Its `failures` begin with what keeps it from committing. */
export type LiveState = LogsState & {
  /** Why nothing is heard of any receiver; null while one goes on. */
  silence: string | null
  /** Bytes of events that are not in the store. */
  bytesLeft: number
  /** State of the forwarding; null without it. */
  forward: ForwardState | null
  /** Since when another process has been the store's writer, Unix milliseconds; null if none is. */
  otherWriterSince: number | null
}

export type LiveOptions = CommitterOptions & {
  /** Folders of the event logs to read. */
  logs: readonly string[]
  /** The receiver to start, which writes the first of them; null: other processes write them. */
  receiver: Omit<ReceiverTask, 'eventLog' | 'chain' | 'storeChain' | 'forwarder'> | null
  /** The name of the store among the readers of the logs. */
  reader: string
  /** Where events are forwarded to; null: nowhere. */
  forward: { host: string; port: number; repeatBytes: number } | null
  logLevel: string
  onState: (state: LiveState) => void
  onStandby?: (isStandby: boolean) => void
  onCommit: (coverage: Coverage) => void
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
export async function startLiveIngestion(options: LiveOptions): Promise<LiveIngestion> {
  const { receiver: task, logs, chain, forward, logLevel } = options
  let ingestion: Ingestion | null = null
  let receiver: Receiver | null = null
  if (task !== null) {
    const storeChain = chain === null ? await chainOf(options) : null
    const forwarder =
      forward === null ? null : { name: forwarderName(forward), repeatBytes: forward.repeatBytes }
    const full = { ...task, eventLog: logs[0]!, chain, storeChain, forwarder, logLevel }
    receiver = await startReceiver(full, () => ingestion?.changed())
  }
  const started = new Ingestion(receiver, options)
  ingestion = started
  return { port: receiver?.port ?? null, run: () => started.run() }
}

/** The chain of the store, if it answers at once; null if not, or if it has none. */
async function chainOf({ store }: LiveOptions): Promise<string | null> {
  const coverage = readStore(store, readCoverage).catch((error: unknown) => {
    // A store that must be created or upgraded first gives its chain afterwards; with any other fault the service ends.
    if (error instanceof StoreError) return null
    throw error
  })
  const known = await Promise.race([coverage, sleep(CHAIN_WAIT_MS, null, { ref: false })])
  return known?.chainId ?? null
}

class Ingestion {
  readonly #reader: LogReader
  readonly #receiver: Receiver | null
  readonly #options: LiveOptions
  readonly #committer: LogCommitter
  readonly #forwarding: Forwarding | null
  #forward: ForwardState | null = null
  #otherWriterSince: number | null = null
  /** What the logs are told of the store, and those that could not be told: their receiver may never have run. */
  #told: { height: bigint | null; time: bigint | null } = { height: null, time: null }
  readonly #untold = new Set<string>()
  /** The logs of which it was said that they cannot be told. */
  readonly #unwritable = new Set<string>()
  /** The logs of which it was said that their receivers are silent. */
  readonly #silent = new Set<string>()
  /** Until a change is reported. */
  #reporting: NodeJS.Timeout | null = null

  constructor(receiver: Receiver | null, options: LiveOptions) {
    const { forward, logs, logLevel, log } = options
    const reader = new LogReader(logs.map((folder) => new LocalLog(folder)))
    this.#reader = reader
    this.#receiver = receiver
    this.#options = options
    this.#committer = new LogCommitter(reader, options, {
      isCoreConnected: () => this.#reader.logs.some((log) => isHeard(log.receiver())),
      onCoverage: (coverage) => this.#hasCoverage(coverage),
      onCommit: options.onCommit,
      onChange: () => this.#report(),
    })
    this.#forwarding =
      forward === null
        ? null
        : startForwarding({ ...forward, logs: [...logs], logLevel }, log, (state) => {
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
    this.#tellLogs(this.#reader.logs.map(({ name }) => name))
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

  #hasCoverage({ chainId, height, timestamp }: Coverage): void {
    this.#receiver?.pinChain(chainId)
    this.#told = { height, time: timestamp }
    this.#tellLogs(this.#reader.logs.map(({ name }) => name))
  }

  /** Tells logs which blocks the store does not need any more; at its start none, if they do not know it. */
  #tellLogs(names: readonly string[]): void {
    const { reader } = this.#options
    const file = { name: reader, ...this.#told, isRequired: true, isClean: false, upgrade: null }
    for (const name of names) {
      this.#untold.delete(name)
      if (file.height === null && readReader(NODE_DISK, name, reader) !== null) continue
      writeReader(NODE_DISK, name, file).catch((error: NodeJS.ErrnoException) => {
        this.#untold.add(name)
        // There is no log yet.
        if (error.code === 'ENOENT' || this.#unwritable.has(name)) return
        this.#unwritable.add(name)
        this.#options.log.warn(
          `the event log cannot note how far the store is, and may delete blocks that it needs: ${error.message}`,
        )
      })
    }
  }

  /** Looks again and again at the logs' state and the store's writer, until the signal is aborted. */
  async #keepLooking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#lookForWriter()
      if (this.#untold.size > 0) this.#tellLogs([...this.#untold])
      this.#warnOfSilent()
      this.#report()
      await sleep(LOOK_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Whether another process is the writer is asked, not tried: who waits for the lock would get it. */
  async #lookForWriter(): Promise<void> {
    const { store, onStandby } = this.#options
    const isStandby =
      !this.#committer.isWriter && (await store.hasWriter().catch(() => this.#otherWriterSince !== null))
    // It may have become the writer meanwhile.
    const since = isStandby && !this.#committer.isWriter ? (this.#otherWriterSince ?? Date.now()) : null
    if ((since === null) === (this.#otherWriterSince === null)) return
    this.#otherWriterSince = since
    onStandby?.(since !== null)
  }

  #report(): void {
    this.#options.onState(this.#state())
  }

  #state(): LiveState {
    const { failure, waiting, bytesLeft } = this.#committer
    const ofLogs = stateOfLogs(this.#reader)
    return {
      ...ofLogs,
      failures: [failure, waiting, ...ofLogs.failures].filter((some) => some !== null),
      silence: this.#silence(),
      bytesLeft,
      forward: this.#forward,
      otherWriterSince: this.#otherWriterSince,
    }
  }

  /** Why nothing is heard of any receiver; null while one goes on, which is enough: a block is taken from any log. */
  #silence(): string | null {
    if (this.#receiver !== null) return null
    const silences = this.#reader.logs.map((log, index) => silenceOf(log, index + 1))
    return silences.includes(null) ? null : (silences[0] ?? null)
  }

  /** Logs once that a receiver is silent although others go on: `/ready` does not show it. */
  #warnOfSilent(): void {
    const { logs } = this.#reader
    const isSilence = this.#receiver !== null || this.#silence() !== null
    for (const [index, log] of logs.entries()) {
      const silence = isSilence ? null : silenceOf(log, index + 1)
      if (silence === null) this.#silent.delete(log.name)
      else if (!this.#silent.has(log.name)) {
        this.#silent.add(log.name)
        this.#options.log.warn(`${log.name}: ${silence}; blocks are taken from the other logs`)
      }
    }
  }
}
