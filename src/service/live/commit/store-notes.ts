// What the event logs know of the store: how far it is, so that they delete only what it has.
import type { Logger } from 'pino'
import type { Coverage } from '#core/domain/coverage'
import { ReportedFault } from '#core/domain/reported-fault'
import { NODE_DISK } from '#core/log/files/log-disk'
import { readReader, writeReader } from '#core/log/files/reader-files'
import type { FollowedLog } from '#core/log/read/followed-log'

/** A log with a folder; one that is followed by its URL knows no readers. */
type ToldLog = {
  folder: string
  /** False if it could not be told last: its receiver may never have run. */
  isTold: boolean
  fault: ReportedFault
}

/** Notes in event logs how far the store is. A log that cannot be told is told again. */
export class StoreNotes {
  readonly #logs: readonly ToldLog[]
  readonly #reader: string
  #store: { height: bigint | null; time: bigint | null } = { height: null, time: null }

  /** @param reader the name of the store among the readers of the logs */
  constructor(logs: readonly FollowedLog[], reader: string, logger: Logger) {
    this.#logs = logs.flatMap(({ folder }) =>
      folder === null ? [] : [{ folder, isTold: true, fault: new ReportedFault(logger, 'warn') }],
    )
    this.#reader = reader
  }

  /** Registers the store, without a block, in the logs that do not know it; what was noted earlier stays. */
  begin(): void {
    this.#tell(this.#logs)
  }

  /** The store has these blocks. */
  noteStored({ height, timestamp }: Coverage): void {
    this.#store = { height, time: timestamp }
    this.#tell(this.#logs)
  }

  /** Tells the logs that could not be told. */
  tryAgain(): void {
    this.#tell(this.#logs.filter(({ isTold }) => !isTold))
  }

  #tell(logs: readonly ToldLog[]): void {
    const file = { name: this.#reader, ...this.#store, isRequired: true, isClean: false, upgrade: null }
    for (const log of logs) {
      const { folder, fault } = log
      log.isTold = true
      if (file.height === null && readReader(NODE_DISK, folder, this.#reader) !== null) continue
      try {
        writeReader(NODE_DISK, folder, file)
        fault.over()
      } catch (error) {
        log.isTold = false
        const { code, message } = error as NodeJS.ErrnoException
        // There is no log yet.
        if (code === 'ENOENT') continue
        fault.report(
          `the event log cannot note how far the store is. Until it can, it deletes nothing more; if nothing was noted before, it may delete blocks that the store needs: ${message}`,
        )
      }
    }
  }
}
