import type { Client } from 'pg'

/**
 * A connection is not used for a further read while one of its reads has waited this long. Until then a single connection
 * does all the work: one busy server process answers 1.5 times as many pages as four that must be woken for each.
 */
const LATE_MS = 10

/** A connection beyond the shared ones is closed after this idle time. */
const IDLE_MS = 10_000

/** An unanswered read, and when it began. */
export type ReadInProgress = { readonly since: number }

/** A connection of the pool, and the reads that it has not answered. */
export class PooledConnection {
  /** Rejects if the connection cannot be opened. */
  readonly opened: Promise<Client>
  /** Whether one read alone uses it, or will use it once earlier reads are done. */
  isExclusive = false
  /** The unanswered reads, oldest first. */
  readonly #reads = new Set<ReadInProgress>()
  /** Called once the reads before an exclusive one are done; null if no exclusive read waits. */
  #onDrained: (() => void) | null = null
  /** Null before its first exclusive read. */
  #idleTimer: NodeJS.Timeout | null = null

  constructor(opened: Promise<Client>) {
    this.opened = opened
  }

  /** The number of unanswered reads. */
  get reads(): number {
    return this.#reads.size
  }

  /** Whether a read has waited for so long that further ones should not wait behind it. */
  isLate(now: number): boolean {
    const [oldest] = this.#reads
    return oldest !== undefined && now - oldest.since >= LATE_MS
  }

  /** Begins a read, which lasts until {@link PooledConnection.end}. */
  begin(): ReadInProgress {
    const read = { since: performance.now() }
    this.#reads.add(read)
    return read
  }

  end(read: ReadInProgress): void {
    this.#reads.delete(read)
    if (this.#reads.size <= 1) this.#onDrained?.()
  }

  /** Waits until the reads that began before an exclusive one are done. */
  async drained(): Promise<void> {
    if (this.#reads.size <= 1) return
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve
    })
    this.#onDrained = null
  }

  /** Calls back once the connection has been idle for some time after an exclusive read, unless it is in use then. */
  whenIdle(callback: () => void): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => {
      if (!this.isExclusive && this.#reads.size === 0) callback()
    }, IDLE_MS).unref()
  }
}
