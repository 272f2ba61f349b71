import { MAX_INT64 } from '#core/domain/integers'
import { type ImportedResource, type ImportReport, NO_FIRST_TIMES } from './import-report.ts'
import type { LeftOutRowReason } from './rows/row-values.ts'

/** Counts for the report of an import. */
export class ImportTally {
  readonly leftOut: ImportReport['leftOut'] = {}
  /** The reasons why resources are not imported. */
  readonly missing = new Map<string, string>()
  readonly #first = new Map<ImportedResource, bigint>()

  /** Counts rows that are left out; passed to the decoders of rows. */
  readonly leaveOut = (reason: LeftOutRowReason, count = 1): void => {
    this.leftOut[reason] = (this.leftOut[reason] ?? 0) + count
  }

  /** Records the time of a row, Unix nanoseconds. */
  found(resource: ImportedResource, timestamp: bigint): void {
    if (timestamp < (this.#first.get(resource) ?? MAX_INT64)) this.#first.set(resource, timestamp)
  }

  firstTimes(): ImportReport['first'] {
    const times = [...this.#first].map(([name, time]) => [name, time.toString()])
    return { ...NO_FIRST_TIMES, ...Object.fromEntries(times) }
  }
}
