import { ChangeSignal } from './change-signal.ts'
import { LogGaps } from './choice/log-gaps.ts'
import { SegmentChoice } from './choice/segment-choice.ts'
import type { FollowedLog } from './followed-log.ts'

/** How often a log is looked at without a sign of change, in milliseconds. */
const LOOK_MS = 1_000

/**
 * One or several event logs as one source: their blocks are the same. This looks at the logs, and waits until they change; its
 * parts answer what is in them, and a `LogCursor` reads.
 */
export class LogReader {
  readonly logs: readonly FollowedLog[]
  /** Which segment has a block. */
  readonly segments: SegmentChoice
  /** Which blocks no log has, and which may still arrive. */
  readonly gaps: LogGaps
  readonly #changes = new ChangeSignal()
  readonly #stops: (() => void)[]

  constructor(logs: readonly FollowedLog[]) {
    this.logs = logs
    this.segments = new SegmentChoice(logs)
    this.gaps = new LogGaps(logs, this.segments)
    this.#stops = logs.map((log) => log.watch(() => this.hint()))
    this.refresh()
  }

  /** A log may have grown. */
  hint(): void {
    this.#changes.tell()
  }

  close(): void {
    for (const stop of this.#stops) stop()
  }

  /**
   * Looks at all logs again.
   *
   * @throws {NewerLogError} when a log's head is of a later version.
   */
  refresh(): void {
    for (const log of this.logs) log.refresh()
  }

  /**
   * Resolves once a log has changed since the last call, at the latest after a second, or when the signal is aborted; then looks
   * at the logs.
   *
   * @throws {NewerLogError} when a log's head is of a later version.
   */
  async untilChange(signal: AbortSignal): Promise<void> {
    await this.#changes.next(LOOK_MS, signal)
    this.refresh()
  }
}
