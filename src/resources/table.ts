/**
 * How a column's values are written as text: integers in decimal, booleans as 0 and 1. Digits are texts that nearly always
 * are integers: SQLite holds those as such (sqlite/run-steps.ts), so that a select has to cast them.
 */
export type ColumnType = 'integer' | 'text' | 'digits' | 'boolean'

/**
 * Which of two values of a row stands: that of the newer event, that of the earliest one, the least, the greatest,
 * their sum, or always the one given.
 */
export type MergeRule = 'newer' | 'earliest' | 'least' | 'greatest' | 'sum' | 'given'

export type Column = { name: string; type: ColumnType; merge: MergeRule }

/** A table as every store has it; its key is its first columns. */
export type Table = {
  name: string
  columns: readonly Column[]
  keyLength: number
  /** What reports call the rows that are written, `fundingPeriods`; null: they do not count them. */
  counted: string | null
  /**
   * Whether a row that is there is written only where another value differs, whatever place it has: rows that come again
   * with each block as they were keep the place of what last changed them. Who writes decides which rows are newer.
   */
  onlyIfDifferent?: true
  /**
   * On several machines: the column by whose values the rows are spread, or `everywhere`: they are few, and others are
   * joined with them. The first machine alone holds the table where nothing is said.
   */
  spread?: 'market' | 'market_id' | 'everywhere'
}

const columnOf =
  (type: ColumnType) =>
  (name: string, merge: MergeRule = 'newer'): Column => ({ name, type, merge })
export const integer = columnOf('integer')
export const text = columnOf('text')
export const digits = columnOf('digits')
export const boolean = columnOf('boolean')

/** The event that a row comes from: the last columns of every table whose rows come from one. */
export const place: readonly Column[] = [integer('height'), integer('event_index')]
