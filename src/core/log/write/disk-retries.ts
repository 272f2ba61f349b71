import type { Logger } from 'pino'
import { ReportedFault } from '../../domain/reported-fault.ts'
import type { LogDisk } from '../files/log-disk.ts'

/** Errors of a disk that may pass: it is full, or fails for a while. */
const PASSING_FAULTS = ['ENOSPC', 'EDQUOT', 'EIO']

/** What a disk is to do. After a fault it is done again from its start. */
type DiskWork = () => void | Promise<void>

/** Work that the disk has refused. */
type RefusedWork = {
  work: DiskWork
  /** Whether it must wait for what was refused before it. */
  isInTurn: boolean
  done: PromiseWithResolvers<void>
}

type DiskRetriesOptions = {
  disk: LogDisk
  /** Folder of the event log. */
  folder: string
  logger: Logger
}

/** Who is told of faults, and may delete something. */
export type DiskFaultListener = {
  /** A disk has failed, or works again (null): the fault without the folder's name. */
  onFault(fault: string | null): void
  /** Nothing can be written any more, and waiting does not help: the log must be opened anew. */
  onFailed(error: Error): void
  /** The disk is full: deletes what no reader needs; false if there is nothing. */
  makeRoom(): boolean
}

/**
 * What the disk refuses because it is full, or fails for a while, is done again until the disk accepts it. This is the only
 * place that waits for a disk.
 */
export class DiskRetries {
  readonly #options: DiskRetriesOptions
  readonly #listener: DiskFaultListener
  readonly #report: ReportedFault
  /** In the order in which it was refused. */
  readonly #refused: RefusedWork[] = []
  /** Until all of it is done. */
  #waiting: Promise<void> | null = null
  /** The last fault, while anything is refused. */
  #fault: NodeJS.ErrnoException | null = null
  /** Why nothing can be written any more; null while something can. */
  #failure: Error | null = null

  constructor(options: DiskRetriesOptions, listener: DiskFaultListener) {
    this.#options = options
    this.#listener = listener
    this.#report = new ReportedFault(options.logger)
  }

  /** Why the disk accepts no writes, without the folder's name; null while it does. */
  get fault(): string | null {
    return this.#fault === null
      ? null
      : `the event log cannot be written (${this.#fault.code}): free disk space for it`
  }

  /** Whether nothing can be written any more. */
  get hasFailed(): boolean {
    return this.#failure !== null
  }

  /**
   * While the disk refuses something: resolves once all of that is done, and rejects if it never will be. Once nothing can be
   * written any more, it has rejected. Otherwise null.
   */
  get waiting(): Promise<void> | null {
    return this.#waiting
  }

  /**
   * Resolves once the work is done.
   *
   * @throws an error of the disk that does not pass.
   */
  async do(work: DiskWork): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!this.#noteFault(error as Error)) throw error
      await this.#tryAgain(work, false)
    }
  }

  /** Does the work now; while the disk refuses something, once that is done. Does nothing if nothing can be written any more. */
  doInTurn(work: () => void): void {
    if (this.hasFailed) return
    if (this.#waiting === null) {
      try {
        work()
        return
      } catch (error) {
        if (!this.#noteFault(error as Error)) return
      }
    }
    // It needs no handler: callers wait for `waiting`, which rejects if the work is never done.
    this.#tryAgain(work, true).catch(() => {})
  }

  /** Gives up: nothing can be written any more. */
  fail(error: Error): void {
    if (this.#failure !== null) return
    this.#failure = error
    for (const { done } of this.#refused.splice(0)) done.reject(error)
    this.#waiting = Promise.reject(error)
    this.#waiting.catch(() => {})
    this.#listener.onFailed(error)
  }

  /**
   * Notes a fault before anything else is done: what was written may not be on disk, although the system says so. Returns
   * whether it may pass.
   */
  #noteFault(error: NodeJS.ErrnoException): boolean {
    if (!PASSING_FAULTS.includes(error.code ?? '')) {
      this.fail(error)
      return false
    }
    this.#fault = error
    this.#listener.onFault(this.fault)
    return true
  }

  #tryAgain(work: DiskWork, isInTurn: boolean): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    const done = Promise.withResolvers<void>()
    this.#refused.push({ work, isInTurn, done })
    if (this.#waiting === null) {
      this.#waiting = this.#tryUntilDone()
      // The listener hears of it.
      this.#waiting.catch(() => {})
    }
    return done.promise
  }

  async #tryUntilDone(): Promise<void> {
    const { folder, disk } = this.#options
    let isAccepting = false
    while (this.#refused.length > 0) {
      if (!isAccepting && !this.#makesRoom()) {
        // One file after another may be refused: that is the same fault.
        this.#report.report(`${this.fault}, ${folder}: ${this.#fault!.message}`, 'refused')
        await disk.untilSpace()
      }
      isAccepting = await this.#tryAll()
      if (this.#failure !== null) throw this.#failure
    }
    this.#waiting = null
    this.#fault = null
    this.#listener.onFault(null)
    this.#report.over('the event log can be written again')
  }

  /** Tries all that was refused once; returns whether the disk has accepted it. More may have been refused meanwhile. */
  async #tryAll(): Promise<boolean> {
    let isAccepting = true
    for (const refused of [...this.#refused]) {
      if (refused.isInTurn && refused !== this.#refused[0]) continue
      try {
        await refused.work()
      } catch (error) {
        if (!this.#noteFault(error as Error)) return false
        isAccepting = false
        continue
      }
      this.#refused.splice(this.#refused.indexOf(refused), 1)
      refused.done.resolve()
    }
    return isAccepting
  }

  #makesRoom(): boolean {
    // Space does not help a disk that fails.
    if (this.#fault!.code === 'EIO') return false
    try {
      return this.#listener.makeRoom()
    } catch {
      return false
    }
  }
}
