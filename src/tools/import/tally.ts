import { MAX_INT64 } from '#core/domain/integers'
import type { LeftOutRowReason } from './decode-rows.ts'
import { type ImportedResource, type ImportReport, NO_FIRST_TIMES } from './import-report.ts'

/** Counts for the report of an import. */
export function createImportTally() {
  const leftOut: ImportReport['leftOut'] = {}
  const first = new Map<ImportedResource, bigint>()
  return {
    leftOut,
    /** Why resources are not imported. */
    missing: new Map<string, string>(),
    /** Counts rows that are left out. */
    leaveOut(reason: LeftOutRowReason, count = 1): void {
      leftOut[reason] = (leftOut[reason] ?? 0) + count
    },
    /** Notes the time of a row, Unix nanoseconds. */
    found(resource: ImportedResource, timestamp: bigint): void {
      if (timestamp < (first.get(resource) ?? MAX_INT64)) first.set(resource, timestamp)
    },
    firstTimes(): ImportReport['first'] {
      const found = [...first].map(([name, time]) => [name, time.toString()])
      return { ...NO_FIRST_TIMES, ...Object.fromEntries(found) }
    },
  }
}

export type ImportTally = ReturnType<typeof createImportTally>
