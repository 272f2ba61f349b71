// What keeps the committer from committing, and what an operator can do about it.
import type { Logger } from 'pino'
import { ChainError, GapError } from '#core/blocks/block'
import type { Coverage } from '#core/domain/coverage'
import { ReportedFault } from '#core/domain/reported-fault'
import type { LogReader } from '#core/log/read/log-reader'
import { LogUnreachableError } from '#core/log/read/log-source'
import { EventStreamError } from '#core/records/record-position'
import { StoreError, StoreRefusedError, StoreUnavailableError } from '#core/store/errors'
import { findSeveralChains, SeveralChainsError } from '../one-chain.ts'

type CommitFailureOptions = {
  /** Knows which blocks cannot be read, and why. */
  reader: LogReader
  /** Its `height` is the store's last block; null while it has none. */
  progress: { readonly height: bigint | null }
  logger: Logger
  /** Aborted at the end: nothing fails any more. */
  signal: AbortSignal
  /** The failure has changed. */
  onChange: () => void
}

/** The present failure of a committer: the state has it as long as it lasts, and operators are told when it begins and ends. */
export class CommitFailure {
  readonly #options: CommitFailureOptions
  readonly #report: ReportedFault
  #message: string | null = null
  /** The error that is the failure; null without one. */
  #error: Error | null = null
  /** The store's last block when the failure began; null if it had none. */
  #heightBefore: bigint | null = null

  constructor(options: CommitFailureOptions) {
    this.#options = options
    this.#report = new ReportedFault(options.logger)
  }

  /** Null without a failure. It may name the store. */
  get message(): string | null {
    return this.#message
  }

  /**
   * Does work. An error of it is thrown on, and becomes the failure, unless it is a mistake of the program, or the store refuses this
   * process. If the store cannot be read (StoreUnavailableError), that is its cause.
   */
  async reporting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (thrown) {
      const { cause } = thrown as Error
      const error = thrown instanceof StoreUnavailableError && cause instanceof StoreError ? cause : thrown
      if (isFailure(error)) this.set(error)
      throw error
    }
  }

  /** An error has become the failure. */
  set(error: Error): void {
    const { reader, progress, signal, onChange } = this.#options
    if (signal.aborted) return
    const remedy = remedyOf(error, reader)
    const message = `${error.message}${remedy}`
    const logged = error instanceof SeveralChainsError ? error.withFolders : message
    this.#report.report(`live ingestion: ${logged}`)
    if (message !== this.#message) this.#heightBefore = progress.height
    this.#message = message
    this.#error = error
    onChange()
  }

  /** Nothing keeps it from committing any more. */
  clear(): void {
    if (this.#message === null) return
    this.#report.over('live ingestion: resumed')
    this.#message = null
    this.#error = null
    this.#options.onChange()
  }

  /**
   * The store was looked at, and can be read. Ends a failure that would otherwise last until this process commits, perhaps for days:
   *
   * - a fault of the store;
   * - a gap, or a log that cannot be read, that another process has got past;
   * - logs of several chains, once they are of one.
   */
  noteStored({ height }: Coverage): void {
    const error = this.#error
    const isOneChain =
      error instanceof SeveralChainsError && findSeveralChains(this.#options.reader.logs) === null
    if (error instanceof StoreError || isOneChain || hasPassed(error, height, this.#heightBefore))
      this.clear()
  }
}

function isFailure(error: unknown): error is Error {
  if (error instanceof StoreRefusedError) return false
  return error instanceof StoreError || error instanceof EventStreamError || isRetriedFault(error)
}

/** What an operator can do about events that cannot be ingested, added to the error's message. */
function remedyOf(error: Error, { segments }: LogReader): string {
  if (error instanceof GapError) {
    const reason = segments.reasonFor(error.from)
    const because = reason === null ? '' : `. Events of block ${error.from} cannot be read: ${reason}`
    return `${because}. To do without them: lyra gap accept ${error.from} ${error.to}`
  }
  if (error instanceof ChainError)
    return '. The event log has events of that chain: give each chain its own --event-log, or --follow a log of this one'
  return ''
}

/** Whether an error is a fault of the logs, which says nothing of their events: it is tried again. */
export function isRetriedFault(error: unknown): error is LogUnreachableError | SeveralChainsError {
  return error instanceof LogUnreachableError || error instanceof SeveralChainsError
}

/**
 * Whether a store has got past the block at which a gap, or a log that cannot be read, stopped a process; false for any other error.
 *
 * @param height its last block
 * @param before its last block when the process stopped; null if it had none. It may be the first block of the gap, if the store has
 *   that incomplete
 */
export function hasPassed(error: Error | null, height: bigint, before: bigint | null): boolean {
  if (before !== null && height <= before) return false
  return error instanceof GapError ? height >= error.from : error instanceof LogUnreachableError
}
