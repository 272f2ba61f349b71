// When the receiver deletes segments of its event log.
import type { Logger } from 'pino'
import { ReportedFault } from '#core/domain/reported-fault'
import { type LogDisk, NODE_DISK } from '#core/log/files/log-disk'
import { remakeReadersFolder } from '#core/log/files/log-folder'
import {
  type ReaderFile,
  readersFolder,
  readReader,
  readReaders,
  writeReader,
} from '#core/log/files/reader-files'
import { deleteUnneeded, type LogRetention } from '#core/log/retention'

/** How often the log is shortened although no segment was sealed, since readers go on, in milliseconds. */
const SHORTEN_MS = 5_000

type LogShortenerOptions = {
  /** Folder of the event log. */
  folder: string
  keep: LogRetention
  /** Whether a setting says what is kept: then anything may be deleted before a store is among the readers. */
  isKeepSet: boolean
  /** Whether a store was among the readers of an earlier process. */
  hadRequiredReader: boolean
  logger: Logger
  /** The machine's by default. */
  disk?: LogDisk
}

/**
 * Deletes from an event log what no reader needs. It remembers what the readers have said: if their folder is deleted, they are
 * in the new one at once, also those that do not run.
 */
export class LogShortener {
  readonly #options: LogShortenerOptions
  #hadRequiredReader: boolean
  readonly #disk: LogDisk
  readonly #fault: ReportedFault
  /** The readers as last seen. */
  #readers: readonly ReaderFile[] = []
  /** Of the readers whose folder was deleted, those that the new one does not have yet. */
  #lost: readonly ReaderFile[] = []
  /** When the log was shortened last, and the number of the segment that was written to then. */
  #shortened = { number: 0, atMs: 0 }

  constructor(options: LogShortenerOptions) {
    this.#options = options
    this.#hadRequiredReader = options.hadRequiredReader
    this.#disk = options.disk ?? NODE_DISK
    this.#fault = new ReportedFault(options.logger, 'warn')
  }

  /** Whether a store has been among the readers. */
  get hadRequiredReader(): boolean {
    return this.#hadRequiredReader
  }

  /**
   * Deletes what no reader needs, but looks only if a segment has been sealed, or the last look was a few seconds ago; called
   * every second. Returns whether it has deleted anything.
   *
   * @param number the number of the segment that is written to
   */
  upkeep(number: number): boolean {
    const isEarly = performance.now() - this.#shortened.atMs < SHORTEN_MS
    if (number === this.#shortened.number && isEarly) return false
    this.#shortened = { number, atMs: performance.now() }
    try {
      this.#restoreReaders()
      const hasDeleted = this.#shorten(false)
      if (this.#lost.length === 0) this.#fault.over()
      return hasDeleted
    } catch (error) {
      this.#fault.report(`the event log cannot be shortened: ${(error as Error).message}`)
      return false
    }
  }

  /** The disk has refused a write: deletes a segment that no reader needs, and returns whether there was one. */
  makeRoom(): boolean {
    return this.#shorten(true)
  }

  #shorten(isDiskFull: boolean): boolean {
    const { folder, keep, isKeepSet } = this.#options
    const readers = readReaders(this.#disk, folder)
    if (this.#disk.stat(readersFolder(folder)) === null) return false
    this.#readers = readers
    this.#hadRequiredReader ||= readers.some(({ isRequired }) => isRequired)
    const mayDelete = isKeepSet || this.#hadRequiredReader
    const deleted = deleteUnneeded(
      { disk: this.#disk, folder, keep, mayDelete, lost: this.#lost, nowMs: Date.now() },
      isDiskFull,
    )
    return deleted.length > 0
  }

  /** If the readers' folder was deleted, makes it again, with what they last said: no more than is true. */
  #restoreReaders(): void {
    const { folder, logger } = this.#options
    if (remakeReadersFolder(folder)) {
      logger.warn(
        `${folder}: the folder of the readers was deleted; it is there again, with what is known of them`,
      )
      this.#lost = [...this.#readers, ...this.#lost]
    }
    this.#lost = this.#lost.filter((reader) => !this.#isRestored(reader))
  }

  /** Writes a reader's file, unless it is there; false if that is impossible now. */
  #isRestored(reader: ReaderFile): boolean {
    const { folder } = this.#options
    try {
      // One that runs may have been faster.
      if (readReader(this.#disk, folder, reader.name) === null)
        writeReader(this.#disk, folder, { ...reader, isClean: false })
      return true
    } catch (error) {
      this.#fault.report(
        `the event log cannot note its reader ${reader.name} again, and keeps what that needs: ${(error as Error).message}`,
      )
      return false
    }
  }
}
