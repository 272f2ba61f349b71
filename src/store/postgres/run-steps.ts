import type { HeightRange } from '../../domain/coverage.ts'
import type { BatchCell, BatchRow } from '../../projections/batch.ts'
import type { Row } from '../../resources/resource.ts'
import type { Steps, WriteStep } from '../steps.ts'
import { type ColumnType, onConflict, type Table } from '../tables.ts'
import { mergeRows } from '../write-batch.ts'
import { type Parameter, type Queryable, rowsOf, rowsOnce } from './connection.ts'
import { isDuplicateKey } from './errors.ts'

/** Rows of a step that a cluster is sent value by value: an `insert ... select` asks every machine, whatever it inserts. */
const FEW_ROWS = 500

/** Statements that are sent before the first of them is answered: a round trip for each would take longer than they do. */
const SENT_AHEAD = 500

/**
 * Runs steps of writing, within the caller's transaction: rows of a table by one statement.
 *
 * @param isSpread whether the tables are spread over a cluster (cluster.ts)
 */
export async function runSteps<Result>(
  client: Queryable,
  steps: Steps<Result>,
  isSpread = false,
): Promise<Result> {
  let step = steps.next()
  while (!step.done) step = steps.next(await runStep(client, step.value, isSpread))
  return step.value
}

async function runStep(client: Queryable, step: WriteStep, isSpread: boolean): Promise<Row[][]> {
  if ('each' in step) {
    const results: Row[][] = []
    for (let at = 0; at < step.values.length; at += SENT_AHEAD) {
      const some = step.values.slice(at, at + SENT_AHEAD)
      results.push(
        ...(await Promise.all(some.map((values) => rowsOf(client, step.each, values.map(textOf))))),
      )
    }
    return results
  }
  const { table, countsNew, besideImports } = step
  const rows = mergeRows(table, step.rows)
  if (rows.length === 0) return []
  const insert =
    isSpread && rows.length <= FEW_ROWS ? insertOfValues(table, rows) : insertOfArrays(table, rows)
  if (!countsNew) {
    await upsert(client, insert, table, besideImports)
    return []
  }
  if (!isSpread && (await insertNew(client, insert)))
    return [countBySeq(rows.map(([market, , , seq]) => [market!, seq!]))]
  const counts = await countNew(client, insert)
  const inserted = counts.reduce((sum, [, , count]) => sum + Number(count), 0)
  if (inserted < rows.length) await upsert(client, insert, table, besideImports)
  return [counts]
}

/** What PostgreSQL calls the types of columns. */
export const COLUMN_TYPES: Record<ColumnType, string> = {
  integer: 'bigint',
  text: 'text',
  digits: 'text',
  boolean: 'boolean',
}

/** `insert into ...` of rows, with its values; what stands on a conflict follows. */
type Insert = {
  text: string
  values: Parameter[]
  /** Whether the same text comes again, so that it is worth being prepared. */
  isFixed: boolean
}

const head = ({ name, columns }: Table) =>
  `insert into ${name} (${columns.map((column) => column.name).join(', ')})`

/** Rows that come as one array for each column. */
function insertOfArrays(table: Table, rows: readonly BatchRow[]): Insert {
  const { columns } = table
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${COLUMN_TYPES[type]}[]`).join(', ')
  return {
    text: `${head(table)} select * from unnest(${arrays})`,
    values: columns.map((_, index) => arrayText(rows, index)),
    isFixed: true,
  }
}

/** A column of rows as the text of an array: the driver's own takes several times as long. */
function arrayText(rows: readonly BatchRow[], index: number): string {
  return `{${rows.map((row) => elementText(row[index]!)).join(',')}}`
}

/** Texts that stand in an array as they are; the word that stands for null is none of them. */
const PLAIN = /^(?!null$)[\w.+-]+$/i

function elementText(cell: BatchCell): string {
  if (cell === null) return 'null'
  const text = String(cell)
  return typeof cell !== 'string' || PLAIN.test(text) ? text : `"${text.replaceAll(/[\\"]/g, '\\$&')}"`
}

function insertOfValues(table: Table, rows: readonly BatchRow[]): Insert {
  const values: Parameter[] = []
  const lists = rows.map((row) => {
    const cells = table.columns.map(
      ({ type }, index) => `$${values.push(textOf(row[index]!))}::${COLUMN_TYPES[type]}`,
    )
    return `(${cells.join(', ')})`
  })
  return { text: `${head(table)} values ${lists.join(', ')}`, values, isFixed: false }
}

const run = (client: Queryable, { text, values, isFixed }: Insert) =>
  isFixed ? rowsOf(client, text, values) : rowsOnce(client, text, values)

async function upsert(
  client: Queryable,
  { text, values, isFixed }: Insert,
  table: Table,
  besideImports: readonly HeightRange[] | undefined,
): Promise<void> {
  if (besideImports === undefined) {
    await run(client, { text: `${text} ${onConflict(table)}`, values, isFixed })
    return
  }
  // As a value: on a cluster no table that one machine holds can be looked into for a conflict.
  const conflict = onConflict(table, (height) => `$${values.length + 1}::int8multirange @> ${height}`)
  const ranges = besideImports.map(({ from, to }) => `[${from},${to}]`)
  await run(client, { text: `${text} ${conflict}`, values: [...values, `{${ranges.join(',')}}`], isFixed })
}

/** Inserts rows that nearly always are new, which then takes half the time; false, and nothing is written, where one is not. */
async function insertNew(client: Queryable, { text, values }: Insert): Promise<boolean> {
  try {
    await Promise.all([client.query('savepoint before_rows'), rowsOf(client, text, values)])
  } catch (error) {
    if (!isDuplicateKey(error)) throw error
    await client.query('rollback to savepoint before_rows')
    return false
  }
  await client.query('release savepoint before_rows')
  return true
}

/** How many rows there are, by market and seq, of their markets and seqs. */
function countBySeq(rows: readonly (readonly unknown[])[]): Row[] {
  const counts = new Map<string, [market: string, seq: string, count: number]>()
  for (const [market, seq] of rows) {
    const known = counts.get(`${market} ${seq}`)
    if (known === undefined) counts.set(`${market} ${seq}`, [String(market), String(seq), 1])
    else known[2]++
  }
  return [...counts.values()]
}

/** Inserts rows that mostly are new, and returns how many are, by market and seq. */
async function countNew(client: Queryable, { text, values, isFixed }: Insert): Promise<Row[]> {
  const inserted = `${text} on conflict do nothing returning market, seq`
  if (isFixed) {
    return rowsOf(
      client,
      `with written as (${inserted})
        select cast(market as text), cast(seq as text), cast(count(*) as integer) from written group by market, seq`,
      values,
    )
  }
  // A cluster takes no such insert within another statement.
  return countBySeq(await rowsOnce(client, inserted, values))
}

function textOf(cell: BatchCell): string | null {
  return cell === null ? null : String(cell)
}
