// What the event logs know of the store: how far it is, so that they delete only what it has.
import type { Logger } from 'pino'
import type { Coverage } from '#core/domain/coverage'
import { NODE_DISK } from '#core/log/log-disk'
import type { FollowedLog } from '#core/log/read/followed-log'
import { readReader, writeReader } from '#core/log/reader-files'

/** Notes in event logs how far the store is. A log that cannot be told is told again. */
export class StoreNotes {
  readonly #logs: readonly FollowedLog[]
  readonly #reader: string
  readonly #logger: Logger
  #store: { height: bigint | null; time: bigint | null } = { height: null, time: null }
  /** The logs that could not be told: their receiver may never have run. */
  readonly #untold = new Set<string>()
  /** Those of which it was said that they cannot be told. */
  readonly #unwritable = new Set<string>()

  /** @param reader the name of the store among the readers of the logs */
  constructor(logs: readonly FollowedLog[], reader: string, logger: Logger) {
    this.#logs = logs
    this.#reader = reader
    this.#logger = logger
  }

  /** The store has no blocks yet, as far as is known: logs that do not know it are told so. */
  begin(): void {
    this.#tell(this.#logs.map(({ name }) => name))
  }

  /** The store has these blocks. */
  stored({ height, timestamp }: Coverage): void {
    this.#store = { height, time: timestamp }
    this.#tell(this.#logs.map(({ name }) => name))
  }

  /** Tells the logs that could not be told. */
  tryAgain(): void {
    if (this.#untold.size > 0) this.#tell([...this.#untold])
  }

  #tell(names: readonly string[]): void {
    const file = { name: this.#reader, ...this.#store, isRequired: true, isClean: false, upgrade: null }
    for (const name of names) {
      this.#untold.delete(name)
      if (file.height === null && readReader(NODE_DISK, name, this.#reader) !== null) continue
      writeReader(NODE_DISK, name, file).catch((error: NodeJS.ErrnoException) => {
        this.#untold.add(name)
        // There is no log yet.
        if (error.code === 'ENOENT' || this.#unwritable.has(name)) return
        this.#unwritable.add(name)
        this.#logger.warn(
          `the event log cannot note how far the store is, and may delete blocks that it needs: ${error.message}`,
        )
      })
    }
  }
}
