import type { ViewDialect, ViewType } from './dialect.ts'

/** A column of a view. */
export type ViewColumn = {
  name: string
  type: ViewType
  /** For people who write queries. */
  meaning: string
  /** The expression that it selects. */
  sql: (dialect: ViewDialect) => string
}

/** A column of a table as it is, so that conditions on it find its index. */
const plain =
  (type: ViewType) =>
  (name: string, meaning: string, column: string): ViewColumn => ({ name, type, meaning, sql: () => column })

/** A column of texts: its name, its meaning, and the table's column. */
export const text = plain('text')

/** The same, of 64-bit integers. */
export const integer = plain('integer')

/** SQL, or how a database writes it. */
export type Expression = string | ((dialect: ViewDialect) => string)

/** An expression of any kind as text. */
export function textOf(name: string, meaning: string, expression: Expression): ViewColumn {
  return { name, type: 'text', meaning, sql: (dialect) => asText(expression, dialect) }
}

function asText(expression: Expression, dialect: ViewDialect): string {
  return `cast(${typeof expression === 'string' ? expression : expression(dialect)} as text)`
}

/** An expression as an integer: a column of fewer bits, or one that a select calculates, which has no type in SQLite. */
export function integerOf(name: string, meaning: string, expression: string): ViewColumn {
  return { name, type: 'integer', meaning, sql: () => `cast(${expression} as bigint)` }
}

/** An integer that is zero or not. */
export function boolean(name: string, meaning: string, column: string): ViewColumn {
  return { name, type: 'boolean', meaning, sql: ({ isNotZero }) => isNotZero(column) }
}

/**
 * A time, and the same in Unix nanoseconds.
 *
 * @param nanoseconds the second of the two, for an expression that is no column of a table
 */
export function time(name: string, meaning: string, column: string, nanoseconds = integer): ViewColumn[] {
  return [
    { name, type: 'time', meaning, sql: (dialect) => dialect.time(column) },
    nanoseconds(`${name}_ns`, 'The same in Unix nanoseconds.', column),
  ]
}

/** The name of a number that stands for it in events: `STATE_ACTIVE`. */
export function named(name: string, meaning: string, column: string, names: readonly string[]): ViewColumn {
  const cases = names.map((word, number) => `when ${number} then '${word}'`)
  return textOf(name, meaning, `case ${column} ${cases.join(' ')} end`)
}

/** A text that mostly is a number, and that number. */
export function number(name: string, meaning: string, expression: Expression): ViewColumn[] {
  return [
    textOf(name, meaning, expression),
    {
      name: `${name}_value`,
      type: 'number',
      meaning: 'The same as a number.',
      sql: (dialect) => dialect.wholeNumber(asText(expression, dialect), '0'),
    },
  ]
}

/**
 * An amount as text in the smallest unit, the same in whole units as exact text, and as a number.
 *
 * @param decimals the decimals of the unit, which may be null
 */
export function amount(
  name: string,
  meaning: string,
  expression: Expression,
  decimals: string,
): ViewColumn[] {
  return [
    textOf(name, meaning, expression),
    {
      name: `${name}_units`,
      type: 'text',
      meaning: 'The same in whole units, exact.',
      sql: (dialect) => dialect.wholeUnits(asText(expression, dialect), decimals),
    },
    {
      name: `${name}_value`,
      type: 'number',
      meaning: 'The same in whole units, as a number.',
      sql: (dialect) => dialect.wholeNumber(asText(expression, dialect), decimals),
    },
  ]
}
