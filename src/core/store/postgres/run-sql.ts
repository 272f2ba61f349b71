import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Row } from '../../model/resource.ts'
import type { Cell, TableRow } from '../../model/table.ts'
import type { Query } from '../pages/page.ts'
import { valueLists } from '../pages/statement.ts'
import {
  countPairs,
  type GainedRows,
  gain,
  type Mutation,
  type RowWrite,
  type Write,
} from '../queries-protocol.ts'
import { type ColumnType, type NamedColumn, onConflict, type Table } from '../schema/tables.ts'
import { mergeRows } from '../write/merge-rows.ts'
import { type Queryable, queryRows, rowsOnce } from './connection.ts'
import { copyRows } from './copy-rows.ts'
import { isDuplicateKey } from './errors.ts'

/**
 * Up to this many rows, a cluster gets each value as a parameter: an `insert ... select` involves every machine, whatever
 * it inserts.
 */
const FEW_ROWS = 500

/** Number of statements sent before the first is answered: waiting for each would take longer than the work. */
const SENT_AHEAD = 500

/**
 * Number of rows sent before the server has taken the first of them. Those of a large block would not fit in memory
 * together.
 */
const MAX_ROWS_AHEAD = 40_000

/** Number of rows of one statement: it runs while the next one is prepared. */
const ROWS_AT_A_TIME = 4_000

/**
 * Runs a mutation within the caller's transaction, with one statement for each table. It does not wait for a write without
 * an answer before it sends the next one: round trips took longer than the work.
 *
 * @param isSpread whether the tables are distributed over a cluster (cluster.ts)
 * @param gained counts rows; complete once the promises are fulfilled
 * @param sent receives the promises to await before the transaction can be trusted; without it they are all awaited here
 */
export async function runPostgresMutation<Result>(
  client: Queryable,
  mutation: Mutation<Result>,
  isSpread = false,
  gained: GainedRows = new Map(),
  sent?: Promise<unknown>[],
): Promise<Result> {
  const waiting = sent ?? []
  let rowsAhead = 0
  let step = mutation.next()
  while (!step.done) {
    const answer = runWrite(client, step.value, isSpread, gained)
    // If several statements fail, the first error counts: after it the server refuses everything.
    rowsAhead += 'text' in step.value ? 0 : step.value.rows.length
    if (isAnswered(step.value) || rowsAhead >= MAX_ROWS_AHEAD) {
      step = mutation.next((await Promise.all([answer, ...waiting.splice(0)]))[0])
      rowsAhead = 0
    } else {
      answer.catch(() => {})
      waiting.push(answer)
      step = mutation.next([])
    }
  }
  if (sent === undefined) await Promise.all(waiting)
  return step.value
}

type CountBy = NonNullable<RowWrite['countNewBy']>

const isAnswered = (write: Write) => 'text' in write || write.countNewBy !== undefined

/** Runs one write of a mutation; returns its rows for each list of values, none for rows that are not counted. */
async function runWrite(
  client: Queryable,
  write: Write,
  isSpread: boolean,
  gained: GainedRows,
): Promise<Row[][]> {
  if (!('text' in write)) return writeRows(client, write, isSpread, gained)
  const results: Row[][] = []
  for (let at = 0; at < write.values.length; at += SENT_AHEAD) {
    const lists = write.values.slice(at, at + SENT_AHEAD)
    results.push(...(await Promise.all(lists.map((values) => queryRows(client, write.text, values)))))
  }
  if (write.deletesFrom !== undefined) gain(gained, write.deletesFrom, -results.flat().length)
  return results
}

/**
 * Writes rows, each kind of write in the fastest way:
 *
 * - rows that are all new: `copy`
 * - rows whose new ones are counted by two columns: `copy`, as nearly always all are new; otherwise an insert that skips
 *   stored rows and returns the new ones, and an upsert if it has skipped any
 * - rows of a table whose rows are counted: an upsert that counts the new ones
 * - other rows: an upsert
 *
 * A cluster uses no `copy`, and counts with the insert that skips stored rows.
 */
async function writeRows(
  client: Queryable,
  { table, countNewBy, ...write }: RowWrite,
  isSpread: boolean,
  gained: GainedRows,
): Promise<Row[][]> {
  if (write.areNew && !isSpread) {
    await copyRows(client, table, write.rows)
    return []
  }
  const rows = countNewBy === undefined ? mergeRows(table, write.rows) : write.rows
  if (rows.length === 0) return []
  if (countNewBy !== undefined && !isSpread) {
    const counts = await insertNew(client, table, rows, countNewBy)
    if (counts !== null) {
      gain(gained, table, rows.length)
      return [counts]
    }
  }
  const insert =
    isSpread && rows.length <= FEW_ROWS ? insertOfValues(table, rows) : insertOfArrays(table, rows)
  if (countNewBy === undefined && table.counted === undefined) {
    await upsert(client, insert, table)
    return []
  }
  if (countNewBy === undefined && !isSpread) {
    gain(gained, table, await upsertCounted(client, insert, table))
    return []
  }
  const [one, other] = table.columns as [NamedColumn, NamedColumn]
  const counts = await countNew(client, insert, countNewBy ?? [one.name, other.name])
  const inserted = counts.reduce((sum, [, , count]) => sum + Number(count), 0)
  gain(gained, table, inserted)
  if (inserted < rows.length) await upsert(client, insert, table)
  return [counts]
}

/** Runs a query's statements one after another, within the caller's transaction if it has one. */
export async function runPostgresQuery<T>(client: Queryable, query: Query<T>): Promise<T> {
  let step = query.next()
  while (!step.done) {
    const { text } = step.value
    const sent = valueLists(step.value).map((values) => queryRows(client, text, values))
    step = query.next((await Promise.all(sent)).flat())
  }
  return step.value
}

/** PostgreSQL's names of column types. */
const COLUMN_TYPES: Record<ColumnType, string> = {
  integer: 'bigint',
  text: 'text',
  digits: 'text',
  boolean: 'boolean',
}

/** The beginning of an `insert`, with its rows; the conflict clause follows. */
type Insert = {
  text: string
  values: Cell[]
  /** Whether the same text is used repeatedly, so that it is prepared. */
  isFixed: boolean
}

const head = ({ name, columns }: Table) =>
  `insert into ${name} (${columns.map((column) => column.name).join(', ')})`

/** The rows, as one array for each column. */
function insertOfArrays(table: Table, rows: readonly TableRow[]): Insert {
  const { columns } = table
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${COLUMN_TYPES[type]}[]`).join(', ')
  return {
    text: `${head(table)} select * from unnest(${arrays})`,
    values: columns.map(({ name }) => arrayText(rows, name)),
    isFixed: true,
  }
}

/** The cells of a column as the text of an array. The driver's own conversion takes several times as long. */
function arrayText(rows: readonly TableRow[], name: string): string {
  let text = ''
  let last: Cell | undefined
  let lastText = ''
  for (const row of rows) {
    const cell = row[name]!
    // Markets, periods and blocks are mostly the same as in the previous row.
    if (cell !== last) {
      last = cell
      lastText = elementText(cell)
    }
    text += text === '' ? lastText : `,${lastText}`
  }
  return `{${text}}`
}

/** Texts that need no quotes in an array. The word `null` needs them. */
const UNQUOTED = /^(?!null$)[\w.+-]+$/i

function elementText(cell: Cell): string {
  if (cell === null) return 'null'
  const text = String(cell)
  return typeof cell !== 'string' || UNQUOTED.test(text) ? text : `"${text.replaceAll(/[\\"]/g, '\\$&')}"`
}

function insertOfValues(table: Table, rows: readonly TableRow[]): Insert {
  const values: Cell[] = []
  const lists = rows.map((row) => {
    const cells = table.columns.map(({ name, type }) => `$${values.push(row[name]!)}::${COLUMN_TYPES[type]}`)
    return `(${cells.join(', ')})`
  })
  return { text: `${head(table)} values ${lists.join(', ')}`, values, isFixed: false }
}

const runInsert = (client: Queryable, { text, values, isFixed }: Insert) =>
  isFixed ? queryRows(client, text, values) : rowsOnce(client, text, values)

const upsert = (client: Queryable, { text, ...insert }: Insert, table: Table) =>
  runInsert(client, { text: `${text} ${onConflict(table)}`, ...insert })

/** As {@link upsert}; returns the number of new rows: those that no transaction has locked or replaced. */
async function upsertCounted(client: Queryable, { text, ...insert }: Insert, table: Table): Promise<number> {
  const [row] = await runInsert(client, {
    text: `with written as (${text} ${onConflict(table)} returning xmax = 0 as is_new)
      select cast(count(*) as integer) from written where is_new`,
    ...insert,
  })
  return Number(row![0])
}

/**
 * Inserts rows that are nearly always new, and counts them by two columns. If one is not new, it returns null and nothing
 * is written. The server inserts some rows while the next ones are prepared.
 */
async function insertNew(
  client: Queryable,
  table: Table,
  rows: readonly TableRow[],
  countBy: CountBy,
): Promise<Row[] | null> {
  const sent: Promise<unknown>[] = []
  const send = (answer: Promise<unknown>) => {
    // A fault is thrown below, where all are awaited.
    answer.catch(() => {})
    sent.push(answer)
  }
  send(client.query('savepoint before_rows'))
  for (let at = 0; at < rows.length; at += ROWS_AT_A_TIME) {
    send(copyRows(client, table, rows.slice(at, at + ROWS_AT_A_TIME)))
    await nextTurn()
  }
  const counts = countPairs(rows, countBy)
  try {
    await Promise.all(sent)
  } catch (error) {
    if (!isDuplicateKey(error)) throw error
    await client.query('rollback to savepoint before_rows')
    return null
  }
  await client.query('release savepoint before_rows')
  return counts
}

/** Inserts rows that are mostly new, and counts the new ones by two columns. */
async function countNew(
  client: Queryable,
  { text, values, isFixed }: Insert,
  [one, other]: CountBy,
): Promise<Row[]> {
  const inserted = `${text} on conflict do nothing returning ${one}, ${other}`
  if (isFixed) {
    return queryRows(
      client,
      `with written as (${inserted})
        select cast(${one} as text), cast(${other} as text), cast(count(*) as integer)
        from written group by ${one}, ${other}`,
      values,
    )
  }
  // A cluster does not accept such an insert within another statement.
  const insertedRows = await rowsOnce(client, inserted, values)
  return countPairs(
    insertedRows.map(([value, next]) => ({ [one]: value!, [other]: next! })),
    [one, other],
  )
}
