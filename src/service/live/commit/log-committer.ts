// The way from event logs to the store: when this process is its writer, and what it commits.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { GapError } from '#core/blocks/block'
import { withOpen } from '#core/concurrency/with-open'
import type { Coverage } from '#core/domain/coverage'
import type { LeftOutReason } from '#core/events/left-out'
import { BatchWriter } from '#core/ingest/batch-writer'
import { bytesAfter } from '#core/log/read/log-bytes'
import type { LogReader } from '#core/log/read/log-reader'
import { EventStreamError, type RecordPosition } from '#core/records/record-position'
import { StoreError, StoreLockedError, StoreRefusedError } from '#core/store/errors'
import { readAcceptedGaps, readCoverage } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import type { Store, Writer } from '#core/store/store'
import { refuseSeveralChains } from '../one-chain.ts'
import { CommitFailure, isRetriedFault } from './commit-failure.ts'
import { LogBlocks } from './log-blocks.ts'
import { LogWait } from './log-wait.ts'
import { neededBlock } from './needed-blocks.ts'
import { StoreProgress } from './store-progress.ts'

/** How often a fault of the store or a log is tried again, and another writer or a gap looked at, milliseconds. */
const COMMIT_RETRY_MS = 1_000

/**
 * The writer's lock is released after so long without a block, milliseconds. Not as long as a core is connected and the logs can be
 * read: the next block may come at any moment.
 */
const IDLE_MS = 5_000

export type CommitterOptions = {
  store: Store
  /** The required chain of events; null: that of the store, or of an empty store's logs. */
  chain: string | null
  allowGap: boolean
  strict: boolean
  logger: Logger
  signal: AbortSignal
}

/** Told of each event that was left out, and why. */
export type LeftOutListener = (reason: LeftOutReason, position: RecordPosition) => void

type CommitterListener = {
  /** Whether a core is connected to a receiver of a log. */
  isCoreConnected(): boolean
  /**
   * What the store has: once it is ready, when this becomes the writer, after each commit, and at least once a second while this waits,
   * but at a gap.
   */
  onCoverage(coverage: Coverage): void
  onCommit(coverage: Coverage): void
  onLeftOut: LeftOutListener
  /** The failure has changed. */
  onChange(): void
}

/**
 * Commits the blocks of event logs to a store, by height: from the block after the store's last one on. It is the store's
 * writer only while it has something to commit, or may soon have: another service, or a command, may write meanwhile.
 *
 * | {@link run} | until |
 * |---|---|
 * | makes the store ready, once | that has succeeded |
 * | waits for a block, without the writer's lock | a log has the next one, or a later one and none may still get it |
 * | waits for the writer's lock | it is the writer |
 * | commits | no block has come for `IDLE_MS`, and none may come soon; then it waits for a block again |
 * | after a gap: waits, without the lock | a log or the store has one of the missing blocks, or an operator has accepted all of them |
 * | after another fault of the events: waits, and follows what other processes write to the store | the end of the process |
 * | after a fault of the store or a log: waits a second, without the lock | then it tries again |
 */
export class LogCommitter {
  readonly #reader: LogReader
  readonly #options: CommitterOptions
  readonly #listener: CommitterListener
  readonly #failure: CommitFailure
  readonly #wait: LogWait
  readonly #progress: StoreProgress
  #isWriter = false
  /** The blocks read last as the writer; kept for `bytesLeft`, which tells how far that was. */
  #blocks: LogBlocks | null = null

  constructor(reader: LogReader, options: CommitterOptions, listener: CommitterListener) {
    this.#reader = reader
    this.#options = options
    this.#listener = listener
    const { logger, signal } = options
    this.#progress = new StoreProgress({
      ...options,
      logs: reader.logs,
      onCoverage: (coverage) => listener.onCoverage(coverage),
    })
    const onChange = () => listener.onChange()
    this.#failure = new CommitFailure({ reader, progress: this.#progress, logger, signal, onChange })
    this.#wait = new LogWait(reader)
  }

  /** The fault that keeps it from committing; null without one. */
  get failure(): string | null {
    return this.#failure.message
  }

  /** Whether this is the store's writer, or makes the store ready as such. */
  get isWriter(): boolean {
    return this.#isWriter
  }

  /** What the last {@link lookAtWait} has found; null if nothing is waited for, or not for long yet. */
  get waitReason(): string | null {
    return this.#wait.reason
  }

  /** Looks why the next block is waited for. To be called each second, whatever {@link run} waits for. */
  lookAtWait(): void {
    this.#wait.look(this.#needed)
  }

  /** The block that the store needs next of the logs; null if that is not known yet. */
  get #needed(): bigint | null {
    return neededBlock(this.#progress.last, this.#reader.segments)
  }

  /** Bytes that were not read for the store yet, of the log that has the most. */
  get bytesLeft(): number {
    return bytesAfter(this.#reader.logs, this.#progress.height, this.#blocks?.offset ?? null)
  }

  /**
   * Commits. Returns null once the signal is aborted, or the error if the store refuses this process: its user, program or chain.
   *
   * @throws {NewerLogError} once a log is of a later version.
   */
  async run(): Promise<StoreRefusedError | null> {
    const { signal } = this.#options
    let isStoreReady = false
    while (!signal.aborted) {
      try {
        if (!isStoreReady) {
          await this.#failure.reporting(() => this.#prepareStore())
          isStoreReady = true
          this.#failure.clear()
        }
        await this.#untilBlock()
        if (!signal.aborted) await this.#openAndCommit()
      } catch (error) {
        if (signal.aborted) break
        if (error instanceof StoreRefusedError) return error
        await this.#waitAfter(error)
      }
    }
    return null
  }

  /** Waits before the next attempt, as the table of this class says; throws any other error. */
  async #waitAfter(error: unknown): Promise<void> {
    const { signal } = this.#options
    if (error instanceof GapError) await this.#untilOver(error)
    // Trying again cannot repair the events; another process may still write to the store.
    else if (error instanceof EventStreamError) await this.#followOther(signal)
    else if (error instanceof StoreError || isRetriedFault(error))
      await sleep(COMMIT_RETRY_MS, undefined, { signal }).catch(() => {})
    else throw error
  }

  // The store

  /** Makes the store ready, and notes what it has. */
  async #prepareStore(): Promise<void> {
    const stored = (await this.#coverageAsWriter()) ?? (await readStore(this.#options.store, readCoverage))
    this.#progress.noteChecked(stored)
  }

  /**
   * Makes the store, or brings it up to date, as its writer, and returns what it has: null if it is empty, or another process is its
   * writer.
   */
  async #coverageAsWriter(): Promise<Coverage | null> {
    const { store, logger, signal } = this.#options
    // Impatient: it fails at once if another process has the lock.
    const opening = store.openWriter({ signal, onNotice: this.#warn, isImpatient: true })
    this.#isWriter = true
    try {
      return await withOpen(opening, (writer) => writer.coverage())
    } catch (error) {
      if (!(error instanceof StoreLockedError)) throw error
      logger.warn(`${error.message}; standing by`)
      return null
    } finally {
      this.#isWriter = false
    }
  }

  /** Waits until a log has a block for the store, or the signal is aborted. Other processes may write to it meanwhile. */
  async #untilBlock(): Promise<void> {
    const { signal } = this.#options
    while (!signal.aborted) {
      const needed = this.#needed
      if (needed !== null && this.#reader.gaps.findPastGap(needed) !== null) return
      await this.#reader.untilChange(signal)
      await this.#noteOthers()
    }
  }

  /** Becomes the writer, and commits until nothing is left to do. */
  async #openAndCommit(): Promise<void> {
    const writer = await this.#failure.reporting(async () => {
      refuseSeveralChains(this.#reader.logs)
      return this.#openWriter()
    })
    this.#isWriter = true
    try {
      await this.#failure.reporting(() => this.#commit(writer))
    } finally {
      // If something has failed before, closing fails for the same reason.
      await writer.close().catch((error: Error) => {
        if (this.#failure.message === null) this.#failure.set(error)
      })
      this.#isWriter = false
    }
  }

  /** Waits to become the writer. Meanwhile the other one's commits are followed: what it has is needed no more. */
  async #openWriter(): Promise<Writer> {
    const { store, signal } = this.#options
    const done = new AbortController()
    const following = this.#followOther(AbortSignal.any([signal, done.signal]))
    try {
      return await store.openWriter({ durable: true, signal, onNotice: this.#warn })
    } finally {
      done.abort()
      await following
    }
  }

  async #followOther(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(COMMIT_RETRY_MS, undefined, { signal }).catch(() => {})
      if (!signal.aborted) await this.#noteOthers()
    }
  }

  /** Notes what other processes have written to the store. Its chain is checked when this one becomes the writer. */
  async #noteOthers(): Promise<void> {
    const stored = await this.#progress.look()
    if (stored === null || this.#options.signal.aborted) return
    this.#progress.note(stored)
    this.#failure.noteStored(stored)
  }

  // Reading and committing

  /** Commits what the logs have, until the signal is aborted, no block has come for `IDLE_MS`, or an error occurs. */
  async #commit(writer: Writer): Promise<void> {
    const { signal, store } = this.#options
    const batches = new BatchWriter(writer, (coverage) => {
      this.#progress.note(coverage)
      this.#listener.onCommit(coverage)
    })
    const stored = await writer.coverage()
    this.#progress.noteChecked(stored)
    const accepted = await readStore(store, readAcceptedGaps)
    const blocks = new LogBlocks(
      this.#reader,
      { ...this.#options, stored, accepted },
      { onBlock: (block) => batches.add(block), onLeftOut: this.#listener.onLeftOut },
    )
    this.#blocks = blocks
    let idleSince = performance.now()
    try {
      while (!signal.aborted) {
        refuseSeveralChains(this.#reader.logs)
        if (await blocks.readPiece()) {
          idleSince = performance.now()
          if (!batches.isDue()) continue
          await batches.commit(blocks.coverage)
          this.#failure.clear()
          continue
        }
        await batches.commit(blocks.coverage)
        const { fault } = blocks
        if (fault === null) this.#failure.clear()
        else this.#failure.set(fault)
        const isIdle = fault !== null || !this.#mayGetMore
        if (!isIdle) idleSince = performance.now()
        if (performance.now() - idleSince >= IDLE_MS) {
          if (fault !== null) throw fault
          return
        }
        await this.#reader.untilChange(signal)
      }
      await batches.commit(blocks.coverage)
    } catch (error) {
      // The whole blocks before it are good. The failure that begins with it counts from them.
      if (error instanceof EventStreamError || isRetriedFault(error)) await batches.commit(blocks.coverage)
      throw error
    }
  }

  /** Whether a block may come soon. Another service may be able to read logs that this one cannot. */
  get #mayGetMore(): boolean {
    return this.#listener.isCoreConnected() && this.#reader.logs.some(({ fault }) => fault === null)
  }

  /**
   * Waits until a gap is over: a log has one of the missing blocks whole, the store has got past the first, or an operator has accepted
   * all of them; or until the signal is aborted.
   */
  async #untilOver(gap: GapError): Promise<void> {
    const { signal } = this.#options
    const { segments } = this.#reader
    const isMissing = () => {
      const next = segments.nextAfter(gap.from - 1n, { wantsWhole: true })
      return next === null || next > gap.to
    }
    const before = this.#progress.height
    let lookedAt = performance.now()
    while (!signal.aborted && isMissing()) {
      await this.#reader.untilChange(signal)
      if (performance.now() - lookedAt < COMMIT_RETRY_MS) continue
      lookedAt = performance.now()
      if (await this.#progress.isPassedOrAccepted(gap, before)) {
        segments.tryAgain()
        return
      }
    }
  }

  readonly #warn = (message: string) => this.#options.logger.warn(message)
}
