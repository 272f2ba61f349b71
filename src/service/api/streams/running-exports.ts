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
export function createRunningExports({ longReads, storeLog, log, limits, account }: ExportOptions) {
  // The one that was begun last has the least to do again.
  const shares: Shares<AbortController> = account.shares({
    places: limits.exports,
    choose: (holders) => [...holders].at(-1)!,
  })
  const logBytes = () => storeLog?.bytes() ?? 0
  /** What stops each export, the oldest one first. */
  const running = new Set<AbortController>()
  let breakAt = LONG_LOG_BYTES
  let shortenedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | null = null

  /**
   * Begins an export; returns the controller that stops it.
   *
   * @throws {ApiError} 503 while the WAL is long, or if the address has too many exports.
   */
  async function begin(address: string): Promise<AbortController> {
    await refuseLongLog()
    const stop = new AbortController()
    const result = shares.take(address, stop)
    if (result === 'refused') throw unavailable('too many exports in progress; try again later')
    result?.abort(new Error('its client has the most exports open, and another client needs one'))
    running.add(stop)
    timer ??= setInterval(giveWayToLog, LOG_INTERVAL_MS)
    return stop
  }

  function end(stop: AbortController): void {
    running.delete(stop)
    shares.release(stop)
    if (running.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }

  async function refuseLongLog(): Promise<void> {
    if (logBytes() <= LONG_LOG_BYTES) return
    const now = performance.now()
    if (running.size === 0 && now - shortenedAt >= SHORTEN_INTERVAL_MS) {
      shortenedAt = now
      await longReads.shortenLog()
      if (logBytes() <= LONG_LOG_BYTES) return
      log.warn(
        `the store's write-ahead log is ${megabytes(logBytes())}, and another program prevents it from being emptied: look for lyra export, check, verify, copy or backup`,
      )
    }
    throw unavailable(
      "exports are paused while the store's write-ahead log is too long; try again later",
      LOG_RETRY_SECONDS,
    )
  }

  /** Ends the oldest export if the WAL is too long: its snapshot prevents the WAL from being emptied. */
  function giveWayToLog(): void {
    const bytes = logBytes()
    if (bytes <= LONG_LOG_BYTES) breakAt = LONG_LOG_BYTES
    if (bytes <= breakAt) return
    breakAt = bytes + LOG_STEP_BYTES
    const oldest = [...running].find(({ signal }) => !signal.aborted)
    oldest?.abort(
      new Error(
        `the store's write-ahead log is ${megabytes(bytes)} and cannot be emptied during the export; resume with the last cursor`,
      ),
    )
  }

  return { begin, end }
}
