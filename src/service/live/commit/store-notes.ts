// What the event logs know of the store: how far it is, so that they delete only what it has.
import type { Logger } from 'pino'
import type { Coverage } from '#core/domain/coverage'
import { NODE_DISK } from '#core/log/files/log-disk'
import { readReader, writeReader } from '#core/log/files/reader-files'
import type { FollowedLog } from '#core/log/read/followed-log'

/** Notes in event logs how far the store is. A log that cannot be told is told again. */
export class StoreNotes {
  /** The folders of the logs; one that is followed by its URL knows no readers. */
  readonly #folders: readonly string[]
  readonly #reader: string
  readonly #logger: Logger
  #store: { height: bigint | null; time: bigint | null } = { height: null, time: null }
  /** The logs that could not be told: their receiver may never have run. */
  readonly #untold = new Set<string>()
  /** Those of which it was said that they cannot be told. */
  readonly #unwritable = new Set<string>()

  /** @param reader the name of the store among the readers of the logs */
  constructor(logs: readonly FollowedLog[], reader: string, logger: Logger) {
    this.#folders = logs.flatMap(({ folder }) => folder ?? [])
    this.#reader = reader
    this.#logger = logger
  }

  /** The store has no blocks yet, as far as is known: logs that do not know it are told so. */
  begin(): void {
    this.#tell(this.#folders)
  }

  /** The store has these blocks. */
  stored({ height, timestamp }: Coverage): void {
    this.#store = { height, time: timestamp }
    this.#tell(this.#folders)
  }

  /** Tells the logs that could not be told. */
  tryAgain(): void {
    if (this.#untold.size > 0) this.#tell([...this.#untold])
  }

  #tell(folders: readonly string[]): void {
    const file = { name: this.#reader, ...this.#store, isRequired: true, isClean: false, upgrade: null }
    for (const folder of folders) {
      this.#untold.delete(folder)
      if (file.height === null && readReader(NODE_DISK, folder, this.#reader) !== null) continue
      writeReader(NODE_DISK, folder, file).catch((error: NodeJS.ErrnoException) => {
        this.#untold.add(folder)
        // There is no log yet.
        if (error.code === 'ENOENT' || this.#unwritable.has(folder)) return
        this.#unwritable.add(folder)
        this.#logger.warn(
          `the event log cannot note how far the store is, and may delete blocks that it needs: ${error.message}`,
        )
      })
    }
  }
}
