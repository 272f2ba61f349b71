import type { KeyValue, Row } from '../../model/resource.ts'
import type { Cell, TableRow } from '../../model/table.ts'
import type { Reading } from '../pages/page.ts'
import { countPairs, type GainedRows, gain, type Steps, type WriteStep } from '../queries-protocol.ts'
import { insertText, onConflict } from '../schema/tables.ts'
import { mergeRows } from '../write/merge-rows.ts'

/** What runs single statements. */
type StatementRunner = {
  rows(text: string, values: readonly (KeyValue | null)[]): Row[]
  run(text: string, values: readonly (KeyValue | null)[]): number
}

/**
 * Runs write steps within the caller's transaction, row by row; of several rows with one key, only the final one.
 *
 * @param gained counts rows
 */
export function runSqliteSteps<Result>(
  connection: StatementRunner,
  steps: Steps<Result>,
  gained: GainedRows = new Map(),
): Result {
  let step = steps.next()
  while (!step.done) step = steps.next(runStep(connection, step.value, gained))
  return step.value
}

function runStep(connection: StatementRunner, step: WriteStep, gained: GainedRows): Row[][] {
  if ('text' in step) {
    const results = step.values.map((values) => connection.rows(step.text, values.map(bound)))
    if (step.deletesFrom !== undefined) gain(gained, step.deletesFrom, -results.flat().length)
    return results
  }
  const { table, rows, countNewBy } = step
  const insert = insertText(table)
  const upsert = `${insert} ${onConflict(table)}`
  const insertNew = `${insert} on conflict do nothing`
  const valuesOf = (row: TableRow) =>
    table.columns.map(({ name, type }) =>
      type === 'digits' ? heldDigits(row[name] as string) : bound(row[name]!),
    )
  const apart = step.areNew || countNewBy !== undefined ? rows : mergeRows(table, rows)
  if (table.counted === undefined) {
    for (const row of apart) connection.run(upsert, valuesOf(row))
    return []
  }
  const inserted = apart.filter((row) => {
    const values = valuesOf(row)
    const isNew = connection.run(insertNew, values) > 0
    if (!isNew) connection.run(upsert, values)
    return isNew
  })
  gain(gained, table, inserted.length)
  return countNewBy === undefined ? [] : [countPairs(inserted, countNewBy)]
}

/** Runs a reading, within the caller's transaction. */
export function runSqliteReading<T>(connection: StatementRunner, reading: Reading<T>): T {
  let step = reading.next()
  while (!step.done) {
    const { text } = step.value
    // Pages are located so: a statement that runs once costs no list of its values.
    step = reading.next(
      'each' in step.value
        ? step.value.each.flatMap((values) => connection.rows(text, values))
        : connection.rows(text, step.value.values ?? []),
    )
  }
  return step.value
}

/** A number binds as one with a fraction, and a boolean not at all. */
function bound(cell: Cell): bigint | string | null {
  return typeof cell === 'number' || typeof cell === 'boolean' ? BigInt(cell) : cell
}

/** Integers of so many digits are held as such, if they read back as they are written here. */
const MOST_DIGITS = 15

/** Digits as an integer: 11 digits take half the bytes of a text. */
function heldDigits(text: string): bigint | string {
  const { length } = text
  if (length === 0 || length > MOST_DIGITS || (length > 1 && text.startsWith('0'))) return text
  let value = 0
  for (let at = 0; at < length; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return text
    value = 10 * value + digit
  }
  return BigInt(value)
}
