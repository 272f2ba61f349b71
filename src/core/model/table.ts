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
 * How a column's values are written as text: integers in decimal, booleans as 0 and 1. `digits` are texts that nearly
 * always are integers. SQLite stores those as integers (sqlite/run-sql.ts), so a select must cast them.
 */
export type ColumnType = 'integer' | 'text' | 'digits' | 'boolean'

/**
 * How a column's values are read: 64-bit integers as text, because they exceed a JavaScript number; small integers as
 * numbers; digits as text; short non-empty texts on one line (numbers, ids); hashes, which are never null and nearly always
 * on one line, but may be any text; JSON on one long line; any texts.
 */
export type RowType = 'int64' | 'small' | 'digits' | 'line' | 'hash' | 'json' | 'text'

/**
 * Which of two values counts: that of the newer event, that of the earliest one, the least, the greatest, their sum, or
 * always the one that is written.
 */
export type MergeRule = 'newer' | 'earliest' | 'least' | 'greatest' | 'sum' | 'given'

/** A column of values of a type. */
export type Column<Value extends Cell = Cell> = {
  type: ColumnType
  rowType: RowType
  merge: MergeRule
  /** Whether a value, as text and not null, is one that Lyra writes. */
  isRight: (value: string) => boolean
  /**
   * Maximum number of characters of a text that an event can contain; infinite if nothing limits it, and for other types.
   */
  maxLength: number
  /** Never set: the type of the values. */
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
   * and charts of each market and source; `providers`, the rows of the parties that its rows name.
   */
  alsoChanges?: 'series' | 'providers'
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

/** Creates a constructor of columns of one type, with their valid values. */
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

/** Any integer of 64 bits. */
export const integer = columnType<bigint>('integer', 'int64', () => true)

/** An integer of 0 or more. */
export const natural = columnType<bigint>('integer', 'int64', (value) => /^\d+$/.test(value))

/** An integer of 1 or more. */
export const positive = columnType<bigint>('integer', 'int64', (value) => /^[1-9]\d*$/.test(value))

/** An integer from 0 to `most`. */
export const small = (most: number, merge?: MergeRule): Column<number> =>
  columnType<number>('integer', 'small', isUpTo(most))(merge)

/** The store's number for a market. In a batch it is the market's id, which is replaced when the row is written. */
export const marketNumber = columnType<bigint | string>('integer', 'int64', () => true)

/** A market id in lower case. */
export const marketId = columnType<string>(
  'text',
  'line',
  (value) => MARKET_ID.test(value) && isLowerCase(value),
  ID_LENGTH,
)
/** A party id in lower case, or `network`. */
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

/** A name, code or symbol, of any characters. */
export const text = columnType<string>('text', 'text', isAny, MAX_TEXT_LENGTH)

/** A number as it was sent, which may be any text. */
export const numberText = columnType<string>('text', 'text', isAny, MAX_NUMBER_LENGTH)

/** A text of the store itself, or one of an event without a maximum length. */
export const anyText = columnType<string>('text', 'text', isAny)

/** A number as it was sent, on one line and never empty. */
export const line = columnType<string>(
  'text',
  'line',
  (value) => value !== '' && !value.includes('\n'),
  MAX_NUMBER_LENGTH,
)

/** A hash, which the core sends as hex digits but which may be any text. */
export const hash = columnType<string>('text', 'hash', isAny, MAX_KEY_LENGTH)

/** Maximum number of characters that JSON uses for one. */
const JSON_LENGTH = 6

/**
 * JSON that answers contain unchanged: an element of a list of providers, with numbers, their names and a list of
 * penalties.
 */
export const json = columnType<string>(
  'text',
  'json',
  isAny,
  2 * MAX_PENALTIES * JSON_LENGTH * MAX_NUMBER_LENGTH,
)

const MAX_UINT64_LENGTH = 20

/** An integer of 0 or more that may exceed signed 64 bits. */
export const naturalText = columnType<string>(
  'text',
  'line',
  (value) => /^\d+$/.test(value),
  MAX_UINT64_LENGTH,
)

/** One of several words. */
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
/** A decimal number that nearly always is an integer; see {@link ColumnType}. */
export const digits = columnType<string>(
  'digits',
  'digits',
  (value) => DECIMAL.test(value),
  MAX_NUMBER_LENGTH,
)

/** True or false, read as 1 and 0. */
export const boolean = columnType<boolean>('boolean', 'small', isUpTo(1))

/** A column that may be null. */
export const orNull = <Value extends Cell>(column: Column<Value>): Column<Value | null> =>
  column as Column<Value | null>

/** The position of the event that a row is from: the last columns of every table whose rows are from events. */
export const positionColumns = { height: natural(), event_index: small(2 ** 31 - 1) } as const
