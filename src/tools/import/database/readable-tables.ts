import { ImportError } from '../import-error.ts'
import type { TableQuery } from '../source.ts'
import { BLOCK_TIME, BLOCKS, HISTORY, STATE } from '../tables.ts'
import type { ReferenceDatabase } from './reference-database.ts'

/** The tables that every database of the reference has. */
const NEEDED_TABLES = [
  { table: 'chain', columns: ['id'] },
  { table: 'goose_db_version', columns: ['version_id', 'is_applied', 'id'] },
  { table: BLOCKS.table, columns: [...BLOCKS.columns, BLOCK_TIME] },
]

/** The tables of a data node's database that are read, with their columns: a release may not have all. */
export class ReadableTables {
  readonly #name: string
  /** The columns of each table. */
  readonly #columns: ReadonlyMap<string, ReadonlySet<string>>

  private constructor(name: string, columns: ReadonlyMap<string, ReadonlySet<string>>) {
    this.#name = name
    this.#columns = columns
  }

  /** Reads which tables a database has. */
  static async of(database: ReferenceDatabase): Promise<ReadableTables> {
    const columns = new Map<string, Set<string>>()
    for (const { table } of [...NEEDED_TABLES, ...Object.values(HISTORY), ...Object.values(STATE)]) {
      const rows = await database.rows(
        `select attname::text from pg_attribute
       where attrelid = to_regclass('${table}') and attnum > 0 and not attisdropped`,
      )
      if (rows.length > 0) columns.set(table, new Set(rows.map(([column]) => column!)))
    }
    return new ReadableTables(database.name, columns)
  }

  /** @throws {ImportError} for a database that is not that of a data node. */
  refuseOtherDatabase(): void {
    for (const query of NEEDED_TABLES) {
      const missing = this.#missingPartOf(query)
      if (missing === null) continue
      throw new ImportError(
        `${this.#name}: not the database of a Vega data node: it has no ${missing}. Name its database; ?options=-csearch_path%3DSCHEMA selects a schema other than public`,
      )
    }
  }

  /** Why a table cannot be read; null if it can. */
  whyUnreadable({ table, columns, besides, needs = besides?.query }: TableQuery): string | null {
    const by = besides === undefined ? [] : [besides.by]
    const missing = this.#missingPartOf({ table, columns: [...columns, BLOCK_TIME, ...by] })
    if (missing !== null) return `${this.#name} has no ${missing}`
    return needs === undefined ? null : this.whyUnreadable(needs)
  }

  /** The table, or the first of its columns, that the database does not have; null if it has all. */
  #missingPartOf({ table, columns }: Pick<TableQuery, 'table' | 'columns'>): string | null {
    const existing = this.#columns.get(table)
    if (existing === undefined) return `table ${table}`
    const missing = columns.find((column) => !existing.has(column))
    return missing === undefined ? null : `column ${missing} in its table ${table}`
  }
}
