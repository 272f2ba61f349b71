import type { TableReader } from '#core/store/table-reader'

/** What every check of tables needs. */
export type Checking = { reader: TableReader; problems: Problems; signal: AbortSignal | undefined }

/** A problem: where it is, and what it is. */
export type Problem = { where: string; what: string }

/** Maximum number of problems that are reported one by one; a damaged store may have one for each row. */
const MAX_REPORTED_PROBLEMS = 100

/** Collects problems: the first ones are reported, and all are counted. */
export class Problems {
  readonly reported: Problem[] = []
  count = 0

  add(where: string, what: string): void {
    this.count++
    if (this.reported.length < MAX_REPORTED_PROBLEMS) this.reported.push({ where, what })
  }
}
