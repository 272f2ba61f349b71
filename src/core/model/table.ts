import type { Cell, Column } from './columns.ts'

/** A column of a table. */
export type NamedColumn = Column & { name: string }

/** A row of a table, as text, by the names of its columns. */
export type TextRow = Readonly<Record<string, string | null>>

/** A row to be written, by the names of its columns. */
export type TableRow = Readonly<Record<string, Cell>>

/** The rows of a table. */
export type RowOf<Of> = Of extends Table<infer Row> ? Row : never

/** A table as every store has it. */
export type Table<Row extends TableRow = TableRow> = {
  name: string
  columns: readonly NamedColumn[]
  /** How many of the first columns are the key. */
  keyLength: number
  /** The name of the written rows in reports, for example `fundingPeriods`; absent if reports do not count them. */
  counted?: string
  /** Which rows `lyra prune` deletes; absent: none. */
  pruned?: PruneColumns
  /**
   * A boolean column. A row in which it is true replaces one in which it is false, whatever their positions. Of two rows in
   * which it is false, the earlier one counts.
   */
  fullIf?: string
  /** Whether the rows of an incomplete block are deleted when the complete block arrives. */
  goesWithBlock?: true
  /**
   * What changes together with its rows, which are therefore not merely written and pruned row by row: `series`, the spans
   * and charts of each market and source; `providers`, the rows of the parties that its rows name; `daily sums`, those of each
   * party's payments.
   */
  alsoChanges?: 'series' | 'providers' | 'daily sums'
  /** Whether its rows follow from those of another table, with which `lyra check` compares them, and not with event files. */
  isDerived?: true
  /** Whether a row may come from another market: a commit that writes it may change the lists of both. */
  movesBetweenMarkets?: true
  /**
   * On a cluster: the column whose values distribute the rows; `everywhere` for the few rows that others are joined with;
   * or `nowhere` for a table of the first machine alone.
   */
  distribution: 'market' | 'market_id' | 'everywhere' | 'nowhere'
  /** Faults of a row whose single values are valid. */
  faultsOf?: (row: TextRow) => string[]
  /** Never set: the type of the rows. */
  row?: Row
}

/** A column that names the market of a row: by its number in the store (`market`), or by its id (`market_id`). */
export type MarketColumn = 'market' | 'market_id'

/** The column in which the rows of a table name their market; undefined if they do not. */
export function marketColumn({ columns }: Table): MarketColumn | undefined {
  const column = columns.find(({ name }) => name === 'market' || name === 'market_id')
  return column?.name as MarketColumn | undefined
}

/** The columns that give the age of a row: its time, Unix nanoseconds, and its height. */
export type PruneColumns = { time: string; height: string }

type Columns = Readonly<Record<string, Column>>

type RowOfColumns<Of extends Columns> = {
  readonly [Name in keyof Of & string]: Of[Name] extends Column<infer Value> ? Value : never
}

/**
 * Describes a table.
 *
 * @throws {TypeError} if its first columns are not the key.
 */
export function defineTable<const Of extends Columns>({
  columns,
  key,
  ...others
}: Omit<Table, 'columns' | 'keyLength' | 'fullIf' | 'row'> & {
  columns: Of
  key: readonly (keyof Of & string)[]
  fullIf?: keyof Of & string
}): Table<RowOfColumns<Of>> {
  const named = Object.entries(columns).map(([name, column]): NamedColumn => ({ name, ...column }))
  for (const [index, name] of key.entries()) {
    if (named[index]?.name !== name)
      throw new TypeError(`${others.name}: its columns do not begin with its key`)
  }
  return { ...others, columns: named, keyLength: key.length }
}
