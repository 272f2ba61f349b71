import type { ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { unavailable } from '../http/errors.ts'
import type { Limits } from '../http/limits.ts'
import type { Account, Quota } from '../quotas.ts'
import { ReadingPace, sampleInterval } from './export-pace.ts'
import { WalLimit, type WalLimitOptions } from './wal-limit.ts'

/** How long an export may take; then it is cut off, and can be resumed after its last cursor. */
const MAX_EXPORT_MS = 15 * 60_000

/** When a client may retry if all slots are taken: by then, slow readers have been distinguished from fast ones. */
const SLOT_RETRY_SECONDS = 60

/**
 * How long an address whose export was ended as the slowest may take nobody's slot, as a multiple of the time of the least
 * pace; and how many of these addresses are remembered.
 */
const SLOW_TIMES = 5
const MAX_SLOW_ADDRESSES = 4_096

export type RunningExportsOptions = WalLimitOptions & {
  account: Account
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
  /** Ends it once it has taken too long. */
  timer: NodeJS.Timeout | null
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
  readonly #options: RunningExportsOptions
  readonly #quota: Quota<RunningExport>
  /** In the order in which they began. */
  readonly #running = new Set<RunningExport>()
  /** Files that are being sent. */
  readonly #files = new Set<RunningExport>()
  readonly #slowAddresses: LRUCache<string, true>
  readonly #walLimit: WalLimit
  #timer: NodeJS.Timeout | null = null

  constructor(options: RunningExportsOptions) {
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
    this.#walLimit = new WalLimit(options)
  }

  /**
   * Begins an export, which lasts until {@link RunningExports.end}.
   *
   * @throws {ApiError} 503 while the WAL is long, or if there is no slot.
   */
  async begin(address: string, response: ServerResponse | null): Promise<RunningExport> {
    await this.#walLimit.refuseIfLong(this.#running.size > 0)
    const begun = this.#newExport(address, response)
    const result = this.#quota.take(address, begun)
    if (result === 'refused') this.#takeFromSlowest(begun)
    else result?.stop.abort(new Error('its client has the most exports open, and another client needs one'))
    this.#running.add(begun)
    this.#watch(begun)
    return begun
  }

  /** Begins to send a file, which takes no slot: only its client is measured. Lasts until {@link RunningExports.end}. */
  beginFile(address: string, response: ServerResponse): RunningExport {
    const begun = this.#newExport(address, response)
    this.#files.add(begun)
    this.#watch(begun)
    return begun
  }

  #newExport(address: string, response: ServerResponse | null): RunningExport {
    const pace = new ReadingPace(this.#options.leastPace)
    return { address, response, pace, stop: new AbortController(), timer: null }
  }

  #watch(begun: RunningExport): void {
    // The timer of AbortSignal.timeout would last for the whole time, however soon the export ends.
    const end = () => begun.stop.abort(new Error(`it has taken ${MAX_EXPORT_MS / 60_000} minutes`))
    begun.timer = setTimeout(end, MAX_EXPORT_MS).unref()
    this.#timer ??= setInterval(() => this.#measure(), sampleInterval(this.#options.leastPace))
  }

  /** Ends an export or a file, however its client has left. No effect if it has ended. */
  end(ended: RunningExport): void {
    this.#running.delete(ended)
    this.#files.delete(ended)
    this.#quota.release(ended)
    if (ended.timer !== null) clearTimeout(ended.timer)
    if (this.#running.size + this.#files.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  /**
   * Gives an export the slot of the slowest reader.
   *
   * @throws {ApiError} 503 if its address may not take one, or no reader has been measured long enough.
   */
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

  /**
   * Ends an export if the WAL is too long, since the export's snapshot prevents the WAL from being emptied: the export of the
   * slowest reader, or else the oldest one.
   */
  #giveWayToWal(): void {
    const tooLong = this.#walLimit.exceeded()
    if (tooLong === null) return
    const oldest = [...this.#running].find(({ stop }) => !stop.signal.aborted)
    const ended = this.#slowest() ?? oldest
    ended?.stop.abort(tooLong)
  }
}
