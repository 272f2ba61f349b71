import type { TableRow } from './table.ts'

/**
 * Rows of one market that are created each time they are read: there may be hundreds of thousands, which are then never in
 * memory together.
 */
export type RowSource = Iterable<TableRow> & { readonly marketId: string; readonly length: number }

/** The rows of a table in a batch, in the order of the stream: of two rows with one key the later one counts. */
export class BatchRows implements Iterable<TableRow> {
  readonly #parts: (TableRow[] | RowSource)[] = []
  /** The last part, if it is a list of rows. */
  #list: TableRow[] | null = null
  #length = 0

  get length(): number {
    return this.#length
  }

  add(row: TableRow): void {
    if (this.#list === null) {
      this.#list = []
      this.#parts.push(this.#list)
    }
    this.#list.push(row)
    this.#length++
  }

  addSource(source: RowSource): void {
    if (source.length === 0) return
    this.#parts.push(source)
    this.#list = null
    this.#length += source.length
  }

  /** The distinct values of the column that names the market. */
  markets(column: 'market' | 'market_id'): Set<string> {
    const ids = new Set<string>()
    for (const part of this.#parts) {
      if (!Array.isArray(part)) ids.add(part.marketId)
      else for (const row of part) ids.add(row[column] as string)
    }
    return ids
  }

  *[Symbol.iterator](): Generator<TableRow> {
    for (const part of this.#parts) yield* part
  }

  /** All rows together. */
  all(): readonly TableRow[] {
    const [only] = this.#parts
    return this.#parts.length === 1 && Array.isArray(only) ? only : [...this]
  }

  /** The rows in lists of at most `most`, each of which may be discarded before the next one. */
  *lists(most: number): Generator<readonly TableRow[]> {
    if (this.#parts.every((part) => part === this.#list)) {
      yield this.all()
      return
    }
    let list: TableRow[] = []
    for (const row of this) {
      list.push(row)
      if (list.length < most) continue
      yield list
      list = []
    }
    if (list.length > 0) yield list
  }
}
