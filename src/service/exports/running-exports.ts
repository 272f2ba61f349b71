import type { ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { LONG_WAL_BYTES, megabytes } from '#core/store/long-wal'
import type { StoreWal } from '#core/store/store'
import { unavailable } from '../http/errors.ts'
import type { Limits } from '../http/limits.ts'
import type { Account, Quota } from '../quotas.ts'
import type { LongReads } from '../streams/long-reads.ts'
import { ReadingPace, sampleInterval } from './export-pace.ts'

/** How often to try to empty a long WAL without readers here, and when a client may retry. */
const SHORTEN_INTERVAL_MS = 5_000
const LOG_RETRY_SECONDS = 10

/** When a client may retry if all slots are taken: by then, slow readers have been distinguished from fast ones. */
const SLOT_RETRY_SECONDS = 60

/**
 * How long an address whose export was ended as the slowest may take nobody's slot, as a multiple of the time of the least
 * pace; and how many of these addresses are remembered.
 */
const SLOW_TIMES = 5
const MAX_SLOW_ADDRESSES = 4_096

export type ExportOptions = {
  longReads: LongReads
  /** The store's WAL, if it has one. */
  storeWal?: StoreWal | undefined
  log: Logger
  account: Account
  /** Exports at a time. */
  slots: number
  /** How fast their clients must read. */
  leastPace: Limits['exportPace']
}

/** An export in progress. */
export type RunningExport = {
  readonly address: string
  /** The answer whose client is measured; null while a file is written, since no client reads it yet. */
  readonly response: ServerResponse | null
  readonly pace: ReadingPace
  /** Ends it, with the reason. */
  readonly stop: AbortController
}

/**
 * The exports in progress: they are limited in number, in the growth of the WAL that their snapshots cause, and in how
 * slowly they may be read.
 *
 * An export that waits for its client costs its snapshot and one piece, so many may wait. Once all slots are taken, an
 * address without an export takes that of the slowest reader. An address may not if its own export was recently ended this way:
 * slow readers would otherwise end each other's exports, and everybody else's.
 */
export class RunningExports {
  readonly #options: ExportOptions
  readonly #quota: Quota<RunningExport>
  /** In the order in which they began. */
  readonly #running = new Set<RunningExport>()
  /** Files that are being sent. */
  readonly #files = new Set<RunningExport>()
  readonly #slowAddresses: LRUCache<string, true>
  /** Bytes of the WAL beyond which the next export is ended. */
  #breakAt = LONG_WAL_BYTES
  #shortenedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | null = null

  constructor(options: ExportOptions) {
    this.#options = options
    const { account, slots, leastPace } = options
    this.#quota = account.quota({
      slots,
      // The one that was begun last has the least to do again.
      choose: (holders) => [...holders].at(-1)!,
    })
    this.#slowAddresses = new LRUCache({
      max: MAX_SLOW_ADDRESSES,
      ttl: SLOW_TIMES * leastPace.seconds * 1_000,
    })
  }

  /**
   * Begins an export, which lasts until {@link RunningExports.end}.
   *
   * @throws {ApiError} 503 while the WAL is long, or if there is no slot.
   */
  async begin(address: string, response: ServerResponse | null): Promise<RunningExport> {
    await this.#refuseLongWal()
    const begun = this.#newExport(address, response)
    const result = this.#quota.take(address, begun)
    if (result === 'refused') this.#takeFromSlowest(begun)
    else result?.stop.abort(new Error('its client has the most exports open, and another client needs one'))
    this.#running.add(begun)
    this.#watch()
    return begun
  }

  /** Begins to send a file, which takes no slot: only its client is measured. Lasts until {@link RunningExports.end}. */
  beginFile(address: string, response: ServerResponse): RunningExport {
    const begun = this.#newExport(address, response)
    this.#files.add(begun)
    this.#watch()
    return begun
  }

  #newExport(address: string, response: ServerResponse | null): RunningExport {
    const pace = new ReadingPace(this.#options.leastPace)
    return { address, response, pace, stop: new AbortController() }
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#measure(), sampleInterval(this.#options.leastPace))
  }

  end(ended: RunningExport): void {
    this.#running.delete(ended)
    this.#files.delete(ended)
    this.#quota.release(ended)
    if (this.#running.size + this.#files.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #takeFromSlowest(begun: RunningExport): void {
    const { address } = begun
    const mayTake =
      !this.#slowAddresses.has(address) && ![...this.#running].some((other) => other.address === address)
    const slowest = mayTake ? this.#slowest() : null
    if (slowest === null) {
      throw unavailable('too many exports in progress; try again later', SLOT_RETRY_SECONDS)
    }
    this.#slowAddresses.set(slowest.address, true)
    slowest.stop.abort(new Error('its client reads the slowest, and another client needs its slot'))
    this.#quota.release(slowest)
    this.#quota.take(address, begun)
  }

  /** The export whose client reads the slowest; null if none has been measured long enough. */
  #slowest(): RunningExport | null {
    let slowest: RunningExport | null = null
    let least = Number.POSITIVE_INFINITY
    for (const running of this.#running) {
      const pace = running.stop.signal.aborted ? null : running.pace.recent()
      if (pace === null || pace >= least) continue
      slowest = running
      least = pace
    }
    return slowest
  }

  /** Measures all readers, and ends the exports of those that read too slowly. */
  #measure(): void {
    const { bytesPerSecond, seconds } = this.#options.leastPace
    for (const { response, pace, stop } of [...this.#running, ...this.#files]) {
      const socket = response?.socket ?? null
      if (socket === null) continue
      // Written bytes count as such before the system has accepted them.
      pace.sample(socket.bytesWritten - socket.writableLength, socket.writableLength > 0)
      if (!pace.isTooSlow()) continue
      stop.abort(
        new Error(`the client reads less than ${bytesPerSecond} bytes per second over ${seconds} seconds`),
      )
    }
    this.#giveWayToWal()
  }

  /** Size of the store's WAL; 0 if it has none. */
  #walBytes(): number {
    return this.#options.storeWal?.bytes() ?? 0
  }

  async #refuseLongWal(): Promise<void> {
    if (this.#walBytes() <= LONG_WAL_BYTES) return
    const { longReads, log } = this.#options
    const now = performance.now()
    if (this.#running.size === 0 && now - this.#shortenedAt >= SHORTEN_INTERVAL_MS) {
      this.#shortenedAt = now
      await longReads.shortenWal()
      if (this.#walBytes() <= LONG_WAL_BYTES) return
      log.warn(
        `the store's write-ahead log is ${megabytes(this.#walBytes())}, and another program prevents it from being emptied: look for lyra export, check, verify, copy or backup`,
      )
    }
    throw unavailable(
      "exports are paused while the store's write-ahead log is too long; try again later",
      LOG_RETRY_SECONDS,
    )
  }

  /**
   * Ends an export if the WAL is too long, since the export's snapshot prevents the WAL from being emptied: the export of the
   * slowest reader, or else the oldest one. Another one is ended each time the WAL has grown by a part of the limit. When all
   * have been ended, it has at most doubled.
   */
  #giveWayToWal(): void {
    const bytes = this.#walBytes()
    if (bytes <= LONG_WAL_BYTES) this.#breakAt = LONG_WAL_BYTES
    if (bytes <= this.#breakAt) return
    this.#breakAt = bytes + LONG_WAL_BYTES / this.#options.slots
    const oldest = [...this.#running].find(({ stop }) => !stop.signal.aborted)
    const ended = this.#slowest() ?? oldest
    ended?.stop.abort(
      new Error(
        `the store's write-ahead log is ${megabytes(bytes)} and cannot be emptied during the export; resume with the last cursor`,
      ),
    )
  }
}
