import type { Logger } from 'pino'
import { LONG_LOG_BYTES, megabytes } from '#core/store/long-log'
import type { StoreLog } from '#core/store/store'
import type { Account, Shares } from '../../shares.ts'
import { unavailable } from '../http/errors.ts'
import type { Limits } from '../http/limits.ts'
import type { LongReads } from './long-reads.ts'

/** How often to check the size of the store's WAL during an export, milliseconds. */
const LOG_INTERVAL_MS = 1_000

/** After an export was ended because of a long WAL, the next one is ended when the WAL has grown by this many bytes. */
const LOG_STEP_BYTES = LONG_LOG_BYTES / 8

/** How often to try to empty a long WAL without readers here, and when a client may retry. */
const SHORTEN_INTERVAL_MS = 5_000
const LOG_RETRY_SECONDS = 10

export type ExportOptions = {
  longReads: LongReads
  /** The store's WAL, if it has one. */
  storeLog?: StoreLog | undefined
  log: Logger
  limits: Pick<Limits, 'exports' | 'exportPace'>
  account: Account
}

/** The exports in progress: limits their number, and the growth of the WAL through their snapshots. */
export class RunningExports {
  readonly #shares: Shares<AbortController>
  readonly #options: ExportOptions
  /** What stops each export, the oldest one first. */
  readonly #running = new Set<AbortController>()
  #breakAt = LONG_LOG_BYTES
  #shortenedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | null = null

  constructor(options: ExportOptions) {
    const { account, limits } = options
    this.#options = options
    // The one that was begun last has the least to do again.
    this.#shares = account.shares({ places: limits.exports, choose: (holders) => [...holders].at(-1)! })
  }

  /**
   * Begins an export; returns the controller that stops it.
   *
   * @throws {ApiError} 503 while the WAL is long, or if the address has too many exports.
   */
  async begin(address: string): Promise<AbortController> {
    await this.#refuseLongLog()
    const stop = new AbortController()
    const result = this.#shares.take(address, stop)
    if (result === 'refused') throw unavailable('too many exports in progress; try again later')
    result?.abort(new Error('its client has the most exports open, and another client needs one'))
    this.#running.add(stop)
    this.#timer ??= setInterval(() => this.#giveWayToLog(), LOG_INTERVAL_MS)
    return stop
  }

  end(stop: AbortController): void {
    this.#running.delete(stop)
    this.#shares.release(stop)
    if (this.#running.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  get #logBytes(): number {
    return this.#options.storeLog?.bytes() ?? 0
  }

  async #refuseLongLog(): Promise<void> {
    if (this.#logBytes <= LONG_LOG_BYTES) return
    const now = performance.now()
    if (this.#running.size === 0 && now - this.#shortenedAt >= SHORTEN_INTERVAL_MS) {
      this.#shortenedAt = now
      await this.#options.longReads.shortenLog()
      if (this.#logBytes <= LONG_LOG_BYTES) return
      this.#options.log.warn(
        `the store's write-ahead log is ${megabytes(this.#logBytes)}, and another program prevents it from being emptied: look for lyra export, check, verify, copy or backup`,
      )
    }
    throw unavailable(
      "exports are paused while the store's write-ahead log is too long; try again later",
      LOG_RETRY_SECONDS,
    )
  }

  /** Ends the oldest export if the WAL is too long: its snapshot prevents the WAL from being emptied. */
  #giveWayToLog(): void {
    const bytes = this.#logBytes
    if (bytes <= LONG_LOG_BYTES) this.#breakAt = LONG_LOG_BYTES
    if (bytes <= this.#breakAt) return
    this.#breakAt = bytes + LOG_STEP_BYTES
    const oldest = [...this.#running].find(({ signal }) => !signal.aborted)
    oldest?.abort(
      new Error(
        `the store's write-ahead log is ${megabytes(bytes)} and cannot be emptied during the export; resume with the last cursor`,
      ),
    )
  }
}
