import { DECIMAL } from '../domain/decimal.ts'
import { ID_LENGTH, MARKET_ID, PARTY_ID } from '../domain/ids.ts'
import { MAX_KEY_LENGTH, MAX_NUMBER_LENGTH, MAX_PENALTIES, MAX_TEXT_LENGTH } from '../events/left-out.ts'

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
  /** Whether a value, as text and not null, is one that Lyra writes; `lyra check` reports others. */
  isValid: (value: string) => boolean
  /**
   * Maximum number of characters of a text that an event can contain; infinite if nothing limits it, and for other types.
   */
  maxLength: number
  /** Never set: the type of the values. */
  value?: Value
}

/** Creates a constructor of columns of one type, with their valid values. */
const columnType =
  <Value extends Cell>(
    type: ColumnType,
    rowType: RowType,
    isValid: Column['isValid'],
    maxLength = Number.POSITIVE_INFINITY,
  ) =>
  (merge: MergeRule = 'newer'): Column<Value> => ({ type, rowType, merge, isValid, maxLength })

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

/** JSON of a list of which only the bytes of its event limit the length. */
export const jsonList = columnType<string>('text', 'json', isAny)

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

/** A sum of decimal numbers, which may have more digits than each of them. */
export const sumText = columnType<string>('text', 'line', (value) => DECIMAL.test(value))

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
