import { setImmediate as nextRound } from 'node:timers/promises'
import type { Row } from '../../../model/resource.ts'
import type { TableRow } from '../../../model/table.ts'
import { countPairs, type GainedRows, gain, type RowWrite } from '../../queries-protocol.ts'
import type { NamedColumn, Table } from '../../schema/tables.ts'
import { onConflict } from '../../schema/upsert.ts'
import { mergeRows } from '../../write/merge-rows.ts'
import { type Queryable, queryRows, rowsOnce } from '../connection/query-rows.ts'
import { isDuplicateKey } from '../errors.ts'
import { copyRows } from './copy-rows.ts'
import { type Insert, insertOfArrays, insertOfValues } from './insert.ts'

/**
 * Up to this many rows, a cluster gets each value as a parameter: an `insert ... select` involves every machine, whatever
 * it inserts.
 */
const FEW_ROWS = 500

/** Number of rows of one statement: it runs while the next one is prepared. */
const ROWS_AT_A_TIME = 4_000

/** The two columns by whose values new rows are counted. */
type CountBy = NonNullable<RowWrite['countNewBy']>

/*
 * Each kind of write takes the way that is fastest for it:
 *
 *   rows                        one server                            cluster
 *   all new                     copy                                  upsert
 *   counted by two columns      copy; if one is stored, insert those  insert those that are new, and
 *                               that are new, and upsert all          upsert all if one is stored
 *   of a table that is counted  upsert that counts the new ones       insert those that are new, and
 *                                                                     upsert all if one is stored
 *   others                      upsert                                upsert
 *
 * On a cluster there is no `copy`, and only an insert that skips stored rows counts the new ones.
 */

/** Writes rows within a transaction of its client, and counts those that were not stored. */
export class RowWriter {
  readonly #client: Queryable
  readonly #isDistributed: boolean
  readonly #gained: GainedRows

  /**
   * @param isDistributed whether the tables are distributed over a cluster
   * @param gained receives the numbers of new rows
   */
  constructor(client: Queryable, isDistributed: boolean, gained: GainedRows) {
    this.#client = client
    this.#isDistributed = isDistributed
    this.#gained = gained
  }

  /** Writes rows; returns one list with the counts of new rows if the write requests them, otherwise none. */
  async write(write: RowWrite): Promise<Row[][]> {
    if (this.#isDistributed) return this.#writeOnCluster(write)
    const { table, rows, countNewBy } = write
    if (write.areNew) {
      await copyRows(this.#client, table, rows)
      return []
    }
    if (countNewBy !== undefined) {
      return rows.length === 0 ? [] : [await this.#writeMostlyNew(table, rows, countNewBy)]
    }
    const merged = mergeRows(table, rows)
    if (merged.length === 0) return []
    const insert = insertOfArrays(table, merged)
    if (table.counted === undefined) await upsert(this.#client, insert, table)
    else this.#gain(table, await upsertCounted(this.#client, insert, table))
    return []
  }

  /** Writes rows of which nearly always all are new, and returns the counts of the new ones: it tries to copy them first. */
  async #writeMostlyNew(table: Table, rows: readonly TableRow[], countBy: CountBy): Promise<Row[]> {
    const counts = await copyUnlessStored(this.#client, table, rows, countBy)
    if (counts === null) {
      const insert = insertOfArrays(table, rows)
      return this.#insertAndUpsert({ table, rowCount: rows.length, insert, countBy })
    }
    this.#gain(table, rows.length)
    return counts
  }

  async #writeOnCluster({ table, rows, countNewBy }: RowWrite): Promise<Row[][]> {
    const distinct = countNewBy === undefined ? mergeRows(table, rows) : rows
    if (distinct.length === 0) return []
    const insert =
      distinct.length <= FEW_ROWS ? insertOfValues(table, distinct) : insertOfArrays(table, distinct)
    if (countNewBy === undefined && table.counted === undefined) {
      await upsert(this.#client, insert, table)
      return []
    }
    const [one, other] = table.columns as [NamedColumn, NamedColumn]
    const countBy = countNewBy ?? [one.name, other.name]
    return [await this.#insertAndUpsert({ table, rowCount: distinct.length, insert, countBy })]
  }

  /** Inserts the rows that are not stored, and upserts all if some are. Returns the counts of the new ones. */
  async #insertAndUpsert({ table, rowCount, insert, countBy }: CountedInsert): Promise<Row[]> {
    const counts = await insertNew(this.#client, insert, countBy)
    const inserted = counts.reduce((sum, [, , count]) => sum + Number(count), 0)
    this.#gain(table, inserted)
    if (inserted < rowCount) await upsert(this.#client, insert, table)
    return counts
  }

  #gain(table: Table, rows: number): void {
    gain(this.#gained, table, rows)
  }
}

/** Rows of a table whose new ones are counted by two columns. */
type CountedInsert = { table: Table; rowCount: number; insert: Insert; countBy: CountBy }

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
 * Copies rows that are nearly always new, and counts them by two columns. If one is not new, it returns null and nothing
 * is written. The server takes some rows while the next ones are prepared.
 */
async function copyUnlessStored(
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
    await nextRound()
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

/** Inserts the rows that are not stored, and counts them by two columns. */
async function insertNew(
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
