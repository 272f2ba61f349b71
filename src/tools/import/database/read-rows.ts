import { ImportError } from '../import-error.ts'
import { microsecondsOf } from '../reference-values.ts'
import type { CurrentRow, HistoryRow, SourceBlock, SourceProgress, TableQuery } from '../source.ts'
import { BLOCK_TIME, BLOCKS } from '../tables.ts'
import type { ReferenceDatabase, Texts } from './reference-database.ts'

/** Number of rows fetched at once: small ones, and rows with whole markets. */
const FETCHED_ROWS = 5_000
const FETCHED_STATE_ROWS = 200

/**
 * Maximum bytes of one row of state, and of the rows that are fetched at once. The largest real ones have about ten
 * thousand.
 */
const MAX_STATE_BYTES = 2 * 1024 * 1024

/** Maximum characters of a field of history: one more than a store accepts, so that a longer one is left out. */
const MAX_HISTORY_FIELD_LENGTH = 2_001

/**
 * The height in a row of the table of blocks.
 *
 * @throws {ImportError} if it is none.
 */
export function heightOf(name: string, text: string): number {
  const height = Number(text)
  if (Number.isSafeInteger(height) && height >= 0) return height
  throw new ImportError(`${name}: its table blocks has the invalid height ${text}`)
}

/** Reads the blocks from a height on, ascending. */
export async function* readBlocks(
  database: ReferenceDatabase,
  from: number,
  progress: SourceProgress,
): AsyncGenerator<SourceBlock[], void, undefined> {
  const text = `select height::text, vega_time::text from blocks where height >= ${from} order by blocks.height`
  let last = -1
  for await (const rows of database.readByCursor(BLOCKS.table, text, FETCHED_ROWS)) {
    countRead(rows, progress)
    yield rows.map(([text, time]) => {
      const height = heightOf(database.name, text!)
      const micros = microsecondsOf(time!)
      if (height === last)
        throw new ImportError(`${database.name}: its table blocks has block ${height} twice`)
      if (Number.isNaN(micros)) {
        throw new ImportError(
          `${database.name}: its table blocks has block ${height} at ${time}, which is not a time`,
        )
      }
      last = height
      return { height, time: micros }
    })
  }
}

/** Reads the rows of a table of history from a height on, by height and key. It counts rows without a block, and omits them. */
export async function* readHistory(
  database: ReferenceDatabase,
  query: TableQuery,
  from: number,
  progress: SourceProgress,
): AsyncGenerator<HistoryRow[], void, undefined> {
  const { table, columns, key, hasLists, isInState } = query
  // Rows without a block come first, so that they are counted.
  const texts = hasLists
    ? columnsAsText(columns)
    : columns.map((column) => `left(t."${column}"::text, ${MAX_HISTORY_FIELD_LENGTH})`).join(', ')
  const text = `select ${texts}, b.height::text from ${relationOf(query)} t
    left join blocks b on b.vega_time = t.vega_time where b.height >= ${from} or b.height is null
    order by b.height nulls first, ${key.map((column) => `t.${column}`).join(', ')}`
  const fetched = hasLists ? await fetchedRowsOf(database, query) : FETCHED_ROWS
  for await (const rows of database.readByCursor(table, text, fetched)) {
    countRead(rows, progress)
    const ofBlocks: HistoryRow[] = []
    for (const row of rows) {
      const height = row.pop()
      if (height != null) ofBlocks.push({ height: Number(height), row })
      else if (!isInState) progress.withoutBlock++
    }
    if (ofBlocks.length > 0) yield ofBlocks
  }
}

/** The rows of a table, as a relation. Rows of certain blocks are looked up block by block. */
function relationOf({ table, besides }: TableQuery): string {
  if (besides === undefined) return table
  const { query, by } = besides
  return `(
    select its.* from (select distinct vega_time as at from ${query.table}) other, lateral (
      select * from ${table}
      where ${by} >= other.at and ${by} < other.at + interval '1 second' and vega_time = other.at offset 0
    ) its)`
}

/**
 * Number of rows with lists to fetch at a time.
 *
 * @throws {ImportError} if a single row is too large.
 */
async function fetchedRowsOf(database: ReferenceDatabase, query: TableQuery): Promise<number> {
  const { table, columns } = query
  const bytes = columns.map((column) => `coalesce(octet_length("${column}"::text), 0)`).join(' + ')
  const [row] = await database.rows(`select coalesce(max(${bytes}), 1)::text from ${relationOf(query)} t`)
  const largest = Number(row![0])
  if (largest > MAX_STATE_BYTES) {
    throw new ImportError(
      `${database.name}: its table ${table} has a row of ${largest} bytes: no real one has more than ${MAX_STATE_BYTES}, the source is damaged`,
    )
  }
  return Math.max(1, Math.min(FETCHED_STATE_ROWS, Math.floor(MAX_STATE_BYTES / largest)))
}

/** Reads the rows of a table of current state, by key. */
export async function* readState(
  database: ReferenceDatabase,
  query: TableQuery,
  progress: SourceProgress,
): AsyncGenerator<CurrentRow[], void, undefined> {
  const { table, columns, second, key } = query
  const heightOfSecond = second === undefined ? 'null' : `(${heightInSecond(`t.${second}`)})`
  const text = `select ${columnsAsText([...columns, BLOCK_TIME])}, b.height::text, ${heightOfSecond}::text
    from ${table} t left join blocks b on b.vega_time = t.vega_time
    order by ${key.map((column) => `t.${column}`).join(', ')}`
  for await (const rows of database.readByCursor(table, text, await fetchedRowsOf(database, query))) {
    countRead(rows, progress)
    yield rows.map((row): CurrentRow => {
      const [time = null, height = null, ofSecond = null] = row.splice(columns.length)
      return {
        row,
        time: microsecondsOf(time),
        height: height === null ? null : Number(height),
        heightOfSecond: ofSecond === null ? null : Number(ofSecond),
      }
    })
  }
}

/** The height of the only block in a second. For a time with a fraction, it is the block with that time. */
function heightInSecond(time: string): string {
  const length = `case when date_trunc('second', ${time}) = ${time} then interval '1 second' else interval '1 microsecond' end`
  return `select min(height) from blocks where vega_time >= ${time} and vega_time < ${time} + ${length} having count(*) = 1`
}

function columnsAsText(columns: readonly string[]): string {
  return columns.map((column) => `t."${column}"::text`).join(', ')
}

function countRead(rows: readonly Texts[], progress: SourceProgress): void {
  progress.rows += rows.length
  for (const row of rows) for (const value of row) progress.bytesRead += value?.length ?? 0
}
