import type { Logger } from 'pino'
import { LONG_WAL_BYTES, megabytes } from '#core/store/long-wal'
import type { StoreWal } from '#core/store/store'
import { unavailable } from '../http/errors.ts'
import type { LongReads } from '../streams/long-reads/long-reads.ts'

/** How often to try to empty a long WAL without readers here. */
export const SHORTEN_INTERVAL_MS = 5_000

/** When a client may retry. */
const RETRY_SECONDS = 10

export type WalLimitOptions = {
  longReads: LongReads
  /** The store's WAL, if it has one. */
  storeWal?: StoreWal | undefined
  logger: Logger
  /** Exports at a time. */
  slots: number
}

/** How long the store's WAL may get, which cannot be emptied while an export has its snapshot. */
export class WalLimit {
  readonly #options: WalLimitOptions
  /** Bytes of the WAL beyond which the next export is ended. */
  #endAt = LONG_WAL_BYTES
  #shortenedAt = Number.NEGATIVE_INFINITY

  constructor(options: WalLimitOptions) {
    this.#options = options
  }

  /**
   * Refuses an export while the WAL is long. If no export is running, it tries to empty the WAL first.
   *
   * @throws {ApiError} 503
   */
  async refuseIfLong(isAnyRunning: boolean): Promise<void> {
    if (this.#walBytes() <= LONG_WAL_BYTES) return
    const { longReads, logger } = this.#options
    const now = performance.now()
    if (!isAnyRunning && now - this.#shortenedAt >= SHORTEN_INTERVAL_MS) {
      this.#shortenedAt = now
      await longReads.shortenWal()
      if (this.#walBytes() <= LONG_WAL_BYTES) return
      logger.warn(
        `the store's write-ahead log is ${megabytes(this.#walBytes())}, and another program prevents it from being emptied: look for lyra export, check, verify, copy or backup`,
      )
    }
    throw unavailable(
      "exports are paused while the store's write-ahead log is too long; try again later",
      RETRY_SECONDS,
    )
  }

  /**
   * The reason to end an export now; null if none need end. There is one each time the WAL has grown by a part of the limit:
   * when all exports have been ended, it has at most doubled.
   */
  exceeded(): Error | null {
    const bytes = this.#walBytes()
    if (bytes <= LONG_WAL_BYTES) this.#endAt = LONG_WAL_BYTES
    if (bytes <= this.#endAt) return null
    this.#endAt = bytes + LONG_WAL_BYTES / this.#options.slots
    return new Error(
      `the store's write-ahead log is ${megabytes(bytes)} and cannot be emptied during the export; resume with the last cursor`,
    )
  }

  /** Size of the store's WAL; 0 if it has none. */
  #walBytes(): number {
    return this.#options.storeWal?.bytes() ?? 0
  }
}
