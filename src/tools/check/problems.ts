import type { TableReader } from '#core/store/table-reader'

/** What every check of a store's tables is given. */
export type Checking = { reader: TableReader; problems: Problems; signal: AbortSignal | undefined }

/** A problem: its place and description. */
export type Problem = { where: string; what: string }

/** Problems that are reported one by one; a damaged store may have one for each row. */
const MAX_REPORTED_PROBLEMS = 100

/** Gathers problems: the first are kept, all are counted. */
export class Problems {
  readonly reported: Problem[] = []
  count = 0

  add(where: string, what: string): void {
    this.count++
    if (this.reported.length < MAX_REPORTED_PROBLEMS) this.reported.push({ where, what })
  }
}
