/** The type of a view's column; {@link VIEW_TYPES} has its name in each database. */
export type ViewType = 'text' | 'integer' | 'number' | 'boolean' | 'time'

/** The types as SQLite and PostgreSQL name them. */
export const VIEW_TYPES: Record<ViewType, { sqlite: string; postgres: string }> = {
  text: { sqlite: 'text', postgres: 'text' },
  integer: { sqlite: 'integer', postgres: 'bigint' },
  number: { sqlite: 'real', postgres: 'numeric' },
  boolean: { sqlite: 'integer', postgres: 'boolean' },
  time: { sqlite: 'text', postgres: 'timestamp with time zone' },
}

/** Assets and markets with more decimals, or with fewer than that many below zero, have no whole units in views. */
export const MOST_VIEW_DECIMALS = 100

/**
 * How a database writes what the views calculate. Arguments are SQL expressions, and so are the results; each is null if an
 * argument is null. No value of a row makes a result fail: queries over millions of rows must not end at one odd text.
 */
export type ViewDialect = {
  /** The statements that create a view with this select, or replace it. */
  created: (view: string, select: string) => string
  /** A time in Unix nanoseconds as text or as a value of the database, cut to its precision. */
  time: (nanoseconds: string) => string
  /**
   * A text that is a plain decimal number (`-12`, `0.5`), divided by ten to the power of `decimals`: exact, as text without zeros
   * at the end. Null for another text, and for decimals beyond {@link MOST_VIEW_DECIMALS}.
   */
  wholeUnits: (text: string, decimals: string) => string
  /** The same as a number. */
  wholeNumber: (text: string, decimals: string) => string
  /** Whether an integer is not zero. */
  isNotZero: (integer: string) => string
  /** A field of a JSON object, as text. */
  jsonText: (json: string, field: string) => string
  /** A table with a row for each word: `ALIAS.key`, from 0, and `ALIAS.value`. */
  words: (words: readonly string[], alias: string) => string
  /** A join that adds each object of a JSON list as `ALIAS.value`, or one row without a value for an empty list. */
  joinElements: (list: string, alias: string) => string
}
