import { ID_LENGTH, MARKET_ID, PARTY_ID } from '../domain/ids.ts'
import {
  DECIMAL,
  MAX_KEY_LENGTH,
  MAX_NUMBER_LENGTH,
  MAX_PENALTIES,
  MAX_TEXT_LENGTH,
} from '../events/left-out.ts'

/** A value of a row to be written. */
export type Cell = bigint | number | string | boolean | null

/**
 * How a column's values are written as text: integers in decimal, booleans as 0 and 1. Digits are texts that nearly always
 * are integers: SQLite holds those as such (sqlite/run-sql.ts), so that a select has to cast them.
 */
export type ColumnType = 'integer' | 'text' | 'digits' | 'boolean'

/**
 * How a column's values are read: 64-bit integers as text (they exceed a JavaScript number); small integers; digits as
 * text; short non-empty texts on one line (numbers, ids); hashes, never null and nearly always on one line, but
 * possibly any text; JSON on one long line; any texts.
 */
export type RowType = 'int64' | 'small' | 'digits' | 'line' | 'hash' | 'json' | 'text'

/**
 * Which of two values of a row stands: that of the newer event, that of the earliest one, the least, the greatest,
 * their sum, or always the one given.
 */
export type MergeRule = 'newer' | 'earliest' | 'least' | 'greatest' | 'sum' | 'given'

/** A column of values of a type. */
export type Column<Value extends Cell = Cell> = {
  type: ColumnType
  rowType: RowType
  merge: MergeRule
  /** Whether a value that is not null, as text, is one that Lyra writes. */
  isRight: (value: string) => boolean
  /** Characters of a text that an event can bring, at most; infinite if nothing limits them, and for all that is no text. */
  maxLength: number
  /** Never there: the type of the values. */
  value?: Value
}

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
  /** So many of the first columns are the key. */
  keyLength: number
  /** What reports call the rows that are written, `fundingPeriods`; absent: they do not count them. */
  counted?: string
  /** Which rows `lyra prune` deletes; absent: none. */
  pruned?: PruneColumns
  /**
   * A boolean column: a row in which it is true stands over one in which it is false, whatever their positions; of two in which it
   * is false, the earlier one stands.
   */
  fullIf?: string
  /** Whether the rows of a block that came in part go when it comes again whole. */
  goesWithBlock?: true
  /**
   * What else follows from its rows, so that they are not merely written and pruned row by row: `series`, with spans and
   * charts of each market and source; `providers`, whose rows show the parties that they name.
   */
  follows?: 'series' | 'providers'
  /** Whether a row may come from another market: a commit that writes it may change the lists of both. */
  movesBetweenMarkets?: true
  /**
   * On several machines: the column by whose values the rows are spread, or `everywhere`: they are few, and others are
   * joined with them; or `nowhere`: the first machine alone holds the table.
   */
  spread: 'market' | 'market_id' | 'everywhere' | 'nowhere'
  /** Faults of a row whose values are valid one by one. */
  faultsOf?: (row: TextRow) => string[]
  /** Never there: the type of the rows. */
  row?: Row
}

/** The columns that say how old a row is: its time, Unix nanoseconds, and its height. */
export type PruneColumns = { time: string; height: string }

type Columns = Readonly<Record<string, Column>>

type RowOfColumns<Of extends Columns> = {
  readonly [Name in keyof Of & string]: Of[Name] extends Column<infer Value> ? Value : never
}

/**
 * Describes a table.
 *
 * @throws {TypeError} if the key is not made of its first columns.
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

/** Creates columns of a type; each kind defines its valid values. */
const columnType =
  <Value extends Cell>(
    type: ColumnType,
    rowType: RowType,
    isRight: Column['isRight'],
    maxLength = Number.POSITIVE_INFINITY,
  ) =>
  (merge: MergeRule = 'newer'): Column<Value> => ({ type, rowType, merge, isRight, maxLength })

const isAny = () => true

const isLowerCase = (value: string) => value === value.toLowerCase()

const isUpTo = (most: number) => (value: string) => /^\d+$/.test(value) && Number(value) <= most

export const integer = columnType<bigint>('integer', 'int64', () => true)

/** An integer from 0 on. */
export const natural = columnType<bigint>('integer', 'int64', (value) => /^\d+$/.test(value))

export const positive = columnType<bigint>('integer', 'int64', (value) => /^[1-9]\d*$/.test(value))

/** An integer from 0 to a small one. */
export const small = (most: number, merge?: MergeRule): Column<number> =>
  columnType<number>('integer', 'small', isUpTo(most))(merge)

/** The number that a store has for a market; in a batch the market's id, which is replaced when the row is written. */
export const marketNumber = columnType<bigint | string>('integer', 'int64', () => true)

export const marketId = columnType<string>(
  'text',
  'line',
  (value) => MARKET_ID.test(value) && isLowerCase(value),
  ID_LENGTH,
)
export const partyId = columnType<string>(
  'text',
  'line',
  (value) => PARTY_ID.test(value) && isLowerCase(value),
  ID_LENGTH,
)

/** A key in lower case. */
export const lowerCase = columnType<string>('text', 'line', isLowerCase, MAX_KEY_LENGTH)

/** A key as it was sent. */
export const keyText = columnType<string>('text', 'text', isAny, MAX_KEY_LENGTH)

export const text = columnType<string>('text', 'text', isAny, MAX_TEXT_LENGTH)

/** A number as it was sent, be it one or not. */
export const numberText = columnType<string>('text', 'text', isAny, MAX_NUMBER_LENGTH)

/** A text of the store itself, or one of an event that nothing limits. */
export const anyText = columnType<string>('text', 'text', isAny)

/** A number as it was sent, on one line and never empty. */
export const line = columnType<string>(
  'text',
  'line',
  (value) => value !== '' && !value.includes('\n'),
  MAX_NUMBER_LENGTH,
)

export const hash = columnType<string>('text', 'hash', isAny, MAX_KEY_LENGTH)

/** A character takes at most so many in JSON. */
const JSON_LENGTH = 6

/** JSON that is answered as it stands: an element of a list of providers, of numbers with their names and a list of penalties. */
export const json = columnType<string>(
  'text',
  'json',
  isAny,
  2 * MAX_PENALTIES * JSON_LENGTH * MAX_NUMBER_LENGTH,
)

const MAX_UINT64_LENGTH = 20

/** An integer from 0 on that may be beyond 64 bits, signed. */
export const naturalText = columnType<string>(
  'text',
  'line',
  (value) => /^\d+$/.test(value),
  MAX_UINT64_LENGTH,
)

/** One of some words. */
export const oneOf = (...words: readonly string[]): Column<string> =>
  columnType<string>('text', 'line', (value) => words.includes(value))()

/** A decimal number as the core writes it. */
export const decimal = ({ orEmpty = false } = {}): Column<string> =>
  columnType<string>(
    'text',
    'line',
    (value) => (orEmpty && value === '') || DECIMAL.test(value),
    MAX_NUMBER_LENGTH,
  )()
export const digits = columnType<string>(
  'digits',
  'digits',
  (value) => DECIMAL.test(value),
  MAX_NUMBER_LENGTH,
)

export const boolean = columnType<boolean>('boolean', 'small', isUpTo(1))

/** A column that may have no value. */
export const orNull = <Value extends Cell>(column: Column<Value>): Column<Value | null> =>
  column as Column<Value | null>

/** The event that a row comes from: the last columns of every table whose rows come from one. */
export const positionColumns = { height: natural(), event_index: small(2 ** 31 - 1) } as const
