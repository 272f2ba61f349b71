import type { LeftOutRowReason } from './decode-rows.ts'
import { type ImportedResource, type ImportReport, NO_FIRST_TIMES } from './import-report.ts'

/** Counts for the report of an import. */
export class ImportTally {
  /** Rows and list elements left out, by reason. */
  readonly leftOut = new Map<LeftOutRowReason, number>()
  readonly #first = new Map<string, bigint>()
  readonly #missing = new Map<string, string>()

  /** Counts a row that is left out. */
  readonly leaveOut = (reason: LeftOutRowReason): void => this.leaveOutRows(reason, 1)

  leaveOutRows(reason: LeftOutRowReason, count: number): void {
    this.leftOut.set(reason, (this.leftOut.get(reason) ?? 0) + count)
  }

  /** Notes the time of a row, Unix nanoseconds. */
  found(resource: ImportedResource, timestamp: bigint): void {
    const first = this.#first.get(resource)
    if (first === undefined || timestamp < first) this.#first.set(resource, timestamp)
  }

  /** Notes why a resource is not imported. */
  missing(resource: string, reason: string): void {
    if (!this.#missing.has(resource)) this.#missing.set(resource, reason)
  }

  firstTimes(): ImportReport['first'] {
    const names = Object.keys(NO_FIRST_TIMES) as ImportedResource[]
    return Object.fromEntries(
      names.map((name) => [name, this.#first.get(name)?.toString() ?? null]),
    ) as ImportReport['first']
  }

  notImported(): ImportReport['notImported'] {
    return [...this.#missing].map(([resource, reason]) => ({ resource, reason }))
  }
}
