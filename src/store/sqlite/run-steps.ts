import type { BatchCell, BatchRow } from '../../projections/batch.ts'
import type { Row } from '../../resources/resource.ts'
import type { Steps, WriteStep } from '../steps.ts'
import { onConflict, type Table } from '../tables.ts'
import type { Connection } from './connection.ts'

/** Runs steps of writing, row by row, within the caller's transaction. */
export function runSteps<Result>(connection: Connection, steps: Steps<Result>): Result {
  let step = steps.next()
  while (!step.done) step = steps.next(runStep(connection, step.value))
  return step.value
}

function runStep(connection: Connection, step: WriteStep): Row[][] {
  if ('each' in step) return step.values.map((values) => connection.rows(step.each, values.map(bound)))
  const { table, rows, countsNew } = step
  const insert = insertOf(table, step.besideImports !== undefined)
  const digitsAt = table.columns.flatMap(({ type }, index) => (type === 'digits' ? [index] : []))
  const valuesOf = (row: BatchRow) => {
    const values = row.map(bound)
    for (const at of digitsAt) values[at] = heldDigits(values[at] as string)
    return values
  }
  if (!countsNew) {
    for (const row of rows) connection.run(insert.orUpdate, valuesOf(row))
    return []
  }
  const counts = new Map<string, [market: string, seq: string, count: number]>()
  const seqAt = table.columns.findIndex(({ name }) => name === 'seq')
  for (const row of rows) {
    const values = valuesOf(row)
    if (connection.run(insert.orNothing, values) === 0) connection.run(insert.orUpdate, values)
    else {
      const key = `${row[0]} ${row[seqAt]}`
      const known = counts.get(key)
      if (known === undefined) counts.set(key, [String(row[0]), String(row[seqAt]), 1])
      else known[2]++
    }
  }
  return [[...counts.values()]]
}

type Inserts = { orUpdate: string; orNothing: string }

const inserts = new Map<string, Inserts>()

/** The statements that insert a row of a table: in place of an older one, or where there is none. */
function insertOf(table: Table, besideImports: boolean): Inserts {
  const key = besideImports ? `${table.name} beside imports` : table.name
  let known = inserts.get(key)
  if (known === undefined) {
    const names = table.columns.map(({ name }) => name)
    const text = `insert into ${table.name} (${names.join(', ')})
      values (${names.map((_, index) => `$${index + 1}`).join(', ')})`
    known = {
      orUpdate: `${text} ${onConflict(table, besideImports ? isImported : null)}`,
      orNothing: `${text} on conflict do nothing`,
    }
    inserts.set(key, known)
  }
  return known
}

/** The imported heights of a commit stand in their table before its rows are written. */
const isImported = (height: string) =>
  `exists (select 1 from imported where ${height} between imported.from_height and imported.to_height)`

/** A number binds as one with a fraction, and a boolean not at all. */
function bound(cell: BatchCell): bigint | string | null {
  return typeof cell === 'number' || typeof cell === 'boolean' ? BigInt(cell) : cell
}

/** Integers of so many digits are held as such, if they read back as they are written here. */
const MOST_DIGITS = 15

/** What stands for digits: as an integer 11 of them take half the bytes that they take as a text. */
export function heldDigits(text: string): bigint | string {
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
