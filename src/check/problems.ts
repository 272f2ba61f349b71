/** Something that is not as it should be: where, and what. */
export type Problem = { where: string; what: string }

/** Problems that are told one by one; a damaged store may have one for each row. */
const MAX_TOLD = 100

/** Gathers problems: the first are kept, all are counted. */
export class Problems {
  readonly told: Problem[] = []
  count = 0

  add(where: string, what: string): void {
    this.count++
    if (this.told.length < MAX_TOLD) this.told.push({ where, what })
  }
}
