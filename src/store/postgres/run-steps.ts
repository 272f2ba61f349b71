import type { BatchCell, BatchRow } from '../../projections/batch.ts'
import type { Row } from '../../resources/resource.ts'
import type { Steps, WriteStep } from '../steps.ts'
import { onConflict, type Table } from '../tables.ts'
import { mergeRows } from '../write-batch.ts'
import { type Queryable, rowsOf } from './connection.ts'

/** Runs steps of writing, within the caller's transaction: rows of a table by one statement. */
export async function runSteps<Result>(client: Queryable, steps: Steps<Result>): Promise<Result> {
  let step = steps.next()
  while (!step.done) step = steps.next(await runStep(client, step.value))
  return step.value
}

async function runStep(client: Queryable, step: WriteStep): Promise<Row[][]> {
  if ('each' in step) {
    const results: Row[][] = []
    for (const values of step.values) results.push(await rowsOf(client, step.each, values.map(textOf)))
    return results
  }
  const { table, countsNew } = step
  const rows = mergeRows(table, step.rows)
  const conflict = onConflict(table, step.besideImports)
  return countsNew ? insertCounted(client, table, rows, conflict) : upsert(client, table, rows, conflict)
}

const TYPES = { integer: 'bigint', text: 'text', boolean: 'boolean' } as const

/** `insert into ... select` of rows that come as one array for each column. */
function insertText({ name, columns }: Table): string {
  const names = columns.map((column) => column.name).join(', ')
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${TYPES[type]}[]`).join(', ')
  return `insert into ${name} (${names}) select * from unnest(${arrays})`
}

async function upsert(
  client: Queryable,
  table: Table,
  rows: readonly BatchRow[],
  conflict: string,
): Promise<Row[][]> {
  if (rows.length > 0) await rowsOf(client, `${insertText(table)} ${conflict}`, columnsOf(table, rows))
  return []
}

/** Inserts rows that mostly are new, and returns how many are, by market and seq. */
async function insertCounted(
  client: Queryable,
  table: Table,
  rows: readonly BatchRow[],
  conflict: string,
): Promise<Row[][]> {
  if (rows.length === 0) return []
  const counts = await rowsOf(
    client,
    `with written as (${insertText(table)} on conflict do nothing returning market, seq)
      select cast(market as text), cast(seq as text), cast(count(*) as integer) from written group by market, seq`,
    columnsOf(table, rows),
  )
  const inserted = counts.reduce((sum, [, , count]) => sum + Number(count), 0)
  if (inserted < rows.length) await upsert(client, table, rows, conflict)
  return [counts]
}

function columnsOf({ columns }: Table, rows: readonly BatchRow[]): (string | null)[][] {
  return columns.map((_, index) => rows.map((row) => textOf(row[index]!)))
}

function textOf(cell: BatchCell): string | null {
  return cell === null ? null : String(cell)
}
