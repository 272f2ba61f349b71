import { withoutPassword } from '#core/store/postgres/address'
import { ImportError } from './import-error.ts'
import { ReferenceDatabase, type Texts } from './reference-database.ts'
import { microsecondsOf } from './reference-values.ts'
import { checkSchemaVersion } from './schema-versions.ts'
import { isChainId } from './segment-metadata.ts'
import type {
  CurrentRow,
  HistoryPart,
  HistoryRow,
  ImportSource,
  SourceBlock,
  SourceOptions,
  SourceProgress,
  TableQuery,
} from './source.ts'
import { BLOCK_TIME, BLOCKS, HISTORY, STATE } from './tables.ts'

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

const CONNECT_TIMEOUT_MS = 5_000

/** The tables that every database of the reference has. */
const NEEDED_TABLES = [
  { table: 'chain', columns: ['id'] },
  { table: 'goose_db_version', columns: ['version_id', 'is_applied', 'id'] },
  { table: BLOCKS.table, columns: [...BLOCKS.columns, BLOCK_TIME] },
]

/**
 * Settings of the transaction: one read-only snapshot, times in UTC, no timeout. Cursors are planned to be read to the end.
 * A server from PostgreSQL 14 on notices within 10 s if this program was killed.
 */
const SETTINGS = [
  'begin transaction isolation level repeatable read read only',
  "set local time zone 'UTC'",
  "set local datestyle = 'ISO'",
  "set local bytea_output = 'hex'",
  'set local statement_timeout = 0',
  'set local idle_in_transaction_session_timeout = 0',
  'set local cursor_tuple_fraction = 1',
  `select set_config(name, '10s', true) from pg_settings where name = 'client_connection_check_interval'`,
]

/**
 * Opens the database of a reference data node, in one snapshot; the node may continue to write.
 *
 * @throws {ImportError} for a database that is not the reference's, and without the right to read it.
 * @throws {StoreError} for a database that is unreachable.
 */
export async function openPostgresSource(
  address: string,
  { force = false, signal }: SourceOptions = {},
): Promise<ImportSource> {
  if (!URL.canParse(address)) {
    throw new ImportError('the database address is malformed; use postgres://user@host/database')
  }
  const name = withoutPassword(new URL(address))
  const { Client } = await import('pg')
  const newClient = () => {
    const client = new Client({
      connectionString: address,
      application_name: 'lyra import',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    })
    // The next statement notices the loss of an idle connection.
    client.on('error', () => {})
    return client
  }
  const database = new ReferenceDatabase(name, newClient, signal)
  try {
    await database.open()
    for (const text of SETTINGS) await database.rows(text)
    const tableColumns = await readTableColumns(database)
    for (const query of NEEDED_TABLES) {
      const missing = missingPartOf(tableColumns, query)
      if (missing === null) continue
      throw new ImportError(
        `${name}: not the database of a Vega data node: it has no ${missing}. Name its database; ?options=-csearch_path%3DSCHEMA selects a schema other than public`,
      )
    }
    const version = await referenceVersionOf(database)
    checkSchemaVersion(name, version, force)
    const chainId = await chainOf(database)
    const [ends] = await database.rows('select min(height)::text, max(height)::text from blocks')
    const progress: SourceProgress = { source: name, bytesRead: 0, rows: 0, withoutBlock: 0 }
    const whyUnreadable = ({
      table,
      columns,
      besides,
      needs = besides?.query,
    }: TableQuery): string | null => {
      const by = besides === undefined ? [] : [besides.by]
      const missing = missingPartOf(tableColumns, { table, columns: [...columns, BLOCK_TIME, ...by] })
      if (missing !== null) return `${name} has no ${missing}`
      return needs === undefined ? null : whyUnreadable(needs)
    }
    const part: HistoryPart = {
      name,
      ends: ends?.[0] == null ? null : { from: heightOf(name, ends[0]), to: heightOf(name, ends[1]!) },
      whyUnreadable,
      blocks: (from) => readBlocks(database, from, progress),
      history: (query, from) => readHistory(database, query, from, progress),
    }
    return {
      name,
      chainId,
      parts: [part],
      whyUnreadable,
      state: (query) => readState(database, query, progress),
      progress,
      close: () => database.close(),
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** The columns of the tables that are read, by table. */
async function readTableColumns(database: ReferenceDatabase): Promise<Map<string, Set<string>>> {
  const columns = new Map<string, Set<string>>()
  for (const { table } of [...NEEDED_TABLES, ...Object.values(HISTORY), ...Object.values(STATE)]) {
    const rows = await database.rows(
      `select attname::text from pg_attribute
       where attrelid = to_regclass('${table}') and attnum > 0 and not attisdropped`,
    )
    if (rows.length > 0) columns.set(table, new Set(rows.map(([column]) => column!)))
  }
  return columns
}

function missingPartOf(
  known: ReadonlyMap<string, ReadonlySet<string>>,
  { table, columns }: Pick<TableQuery, 'table' | 'columns'>,
): string | null {
  const there = known.get(table)
  if (there === undefined) return `table ${table}`
  const missing = columns.find((column) => !there.has(column))
  return missing === undefined ? null : `column ${missing} in its table ${table}`
}

async function referenceVersionOf(database: ReferenceDatabase): Promise<number> {
  const [row] = await database.rows(
    `select max(version_id)::text from
       (select distinct on (version_id) version_id, is_applied from goose_db_version order by version_id, id desc) last
     where is_applied`,
  )
  return Number(row?.[0] ?? 0)
}

async function chainOf(database: ReferenceDatabase): Promise<string> {
  const [row] = await database.rows('select id::text from chain limit 1')
  const id = row?.[0]
  if (id == null || !isChainId(id)) {
    throw new ImportError(`${database.name}: its table chain is empty: the data node has not started yet`)
  }
  return id
}

function heightOf(name: string, text: string): number {
  const height = Number(text)
  if (Number.isSafeInteger(height) && height >= 0) return height
  throw new ImportError(`${name}: its table blocks has the invalid height ${text}`)
}

async function* readBlocks(
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

async function* readHistory(
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

async function* readState(
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
