import type { Cell } from '../../model/columns.ts'
import type { KeyValue, Row } from '../../model/resource.ts'
import type { TableRow } from '../../model/table.ts'
import {
  countPairs,
  type GainedRows,
  gain,
  type Mutation,
  type Query,
  valueLists,
  type Write,
} from '../queries-protocol.ts'
import { insertText, onConflict } from '../schema/upsert.ts'
import { mergeRows } from '../write/merge-rows.ts'

/** Something that runs single statements. */
type StatementRunner = {
  rows(text: string, values: readonly (KeyValue | null)[]): Row[]
  run(text: string, values: readonly (KeyValue | null)[]): number
}

/**
 * Runs a mutation within the caller's transaction, row by row. Of several rows with one key it writes only the merged one.
 *
 * @param gained counts rows
 */
export function runSqliteMutation<Result>(
  connection: StatementRunner,
  mutation: Mutation<Result>,
  gained: GainedRows = new Map(),
): Result {
  let step = mutation.next()
  while (!step.done) step = mutation.next(runWrite(connection, step.value, gained))
  return step.value
}

function runWrite(connection: StatementRunner, write: Write, gained: GainedRows): Row[][] {
  if ('text' in write) {
    const results = valueLists(write).map((values) => connection.rows(write.text, values.map(bound)))
    if (write.deletesFrom !== undefined) gain(gained, write.deletesFrom, -results.flat().length)
    return results
  }
  const { table, rows, countNewBy } = write
  const insert = insertText(table)
  const upsert = `${insert} ${onConflict(table)}`
  const insertNew = `${insert} on conflict do nothing`
  const valuesOf = (row: TableRow) =>
    table.columns.map(({ name, type }) =>
      type === 'digits' ? integerIfShort(row[name] as string) : bound(row[name]!),
    )
  const apart = write.areNew || countNewBy !== undefined ? rows : mergeRows(table, rows)
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

/** Runs a query, within the caller's transaction. */
export function runSqliteQuery<T>(connection: StatementRunner, query: Query<T>): T {
  let step = query.next()
  while (!step.done) {
    const { text } = step.value
    // A statement that runs once has no list of lists of values: one less to create for each page.
    step = query.next(
      'each' in step.value
        ? step.value.each.flatMap((values) => connection.rows(text, values))
        : connection.rows(text, step.value.values ?? []),
    )
  }
  return step.value
}

/** SQLite binds a JavaScript number as one with a fraction, and does not bind a boolean. */
function bound(cell: Cell): bigint | string | null {
  return typeof cell === 'number' || typeof cell === 'boolean' ? BigInt(cell) : cell
}

/** Texts of up to this many digits are stored as integers, if they convert back to the same text. */
const MOST_DIGITS = 15

/** Digits as an integer: 11 digits then take half the bytes of a text. */
function integerIfShort(text: string): bigint | string {
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
