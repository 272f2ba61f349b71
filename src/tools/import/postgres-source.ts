import type { Client } from 'pg'
import { withoutPassword } from '#core/store/postgres/address'
import { explainPostgresError } from '#core/store/postgres/errors'
import { ImportError } from './import-error.ts'
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

/** Rows that are fetched at once: small ones, and those that hold whole markets. */
const FETCHED_ROWS = 5_000
const FETCHED_STATE_ROWS = 200

/** Bytes of one row of state, and of those that are fetched at once: the largest real ones have some ten thousand. */
const MAX_STATE_BYTES = 2 * 1024 * 1024

/** Characters of a field of history: one more than a store keeps, so that it is left out. */
const MAX_HISTORY_FIELD_LENGTH = 2_001

const CONNECT_TIMEOUT_MS = 5_000

/** The tables that every database of the reference has. */
const NEEDED_TABLES = [
  { table: 'chain', columns: ['id'] },
  { table: 'goose_db_version', columns: ['version_id', 'is_applied', 'id'] },
  { table: BLOCKS.table, columns: [...BLOCKS.columns, BLOCK_TIME] },
]

/**
 * Settings of the transaction: one read-only snapshot, times in UTC, no timeout. Cursors are planned for reading to the
 * end. A server that can (PostgreSQL 14) notices within 10 s that this program was killed.
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

type Texts = (string | null)[]

/**
 * Opens the database of a data node of the reference, in one snapshot; the node may go on writing.
 *
 * @throws {ImportError} for a database that is not the reference's, and without the right to read it.
 * @throws {StoreError} for a database that cannot be reached.
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
    // The next statement notices that an idle connection was lost.
    client.on('error', () => {})
    return client
  }
  const database = databaseAt(name, newClient, signal)
  try {
    await database.open()
    for (const text of SETTINGS) await database.rows(text)
    const known = await readTableColumns(database)
    for (const query of NEEDED_TABLES) {
      const missing = lackOf(known, query)
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
    const lacks = ({ table, columns, besides, needs = besides?.query }: TableQuery): string | null => {
      const by = besides === undefined ? [] : [besides.by]
      const missing = lackOf(known, { table, columns: [...columns, BLOCK_TIME, ...by] })
      if (missing !== null) return `${name} has no ${missing}`
      return needs === undefined ? null : lacks(needs)
    }
    const part: HistoryPart = {
      name,
      ends: ends?.[0] == null ? null : { from: heightOf(name, ends[0]), to: heightOf(name, ends[1]!) },
      lacks,
      blocks: (from) => readBlocks(database, from, progress),
      history: (query, from) => readHistory(database, query, from, progress),
    }
    return {
      name,
      chainId,
      parts: [part],
      lacks,
      state: (query) => readState(database, query, progress),
      progress,
      close: () => database.close(),
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Runs statements, with clear errors. */
function databaseAt(name: string, newClient: () => Client, signal: AbortSignal | undefined) {
  const client = newClient()
  /** The server's process that runs the statements; null before it is known. */
  let backend: string | null = null
  let cursors = 0
  /** Statements that have not been answered. */
  let running = 0
  /** The driver warns of queries that wait in it; cursors are read side by side. */
  let last: Promise<unknown> = Promise.resolve()

  async function open(): Promise<void> {
    await run(() => client.connect())
    const [row] = await rows('select pg_backend_pid()::text')
    backend = row![0]!
  }

  /** Also cancels the server's running statement, which it would otherwise finish in vain. */
  async function close(): Promise<void> {
    if (running > 0 && backend !== null) await cancel().catch(() => {})
    await client.end().catch(() => {})
  }

  async function cancel(): Promise<void> {
    const client = newClient()
    try {
      await client.connect()
      await client.query('select pg_cancel_backend($1)', [backend])
    } finally {
      await client.end()
    }
  }

  async function run<T>(work: () => Promise<T>): Promise<T> {
    running++
    try {
      return await work()
    } catch (error) {
      throw explain(error)
    } finally {
      running--
    }
  }

  /** The rows of a statement, without waiting for them when reading is aborted. */
  function rows(text: string): Promise<Texts[]> {
    const query = () => client.query<Texts>({ text, rowMode: 'array' })
    const result = last.then(() => run(query))
    last = result.catch(() => {})
    return unlessAborted(result.then(({ rows }) => rows))
  }

  /** The rows of a query of a table by a cursor, many at a time; the next ones are fetched while those are worked on. */
  async function* readByCursor(
    table: string,
    text: string,
    size: number,
  ): AsyncGenerator<Texts[], void, undefined> {
    const cursor = `lyra_${++cursors}`
    await rows(`declare ${cursor} no scroll cursor for ${text}`)
    await refuseEmptied(table)
    const fetch = () => {
      const fetched = rows(`fetch forward ${size} from ${cursor}`)
      fetched.catch(() => {})
      return fetched
    }
    let next = fetch()
    for (;;) {
      const fetched = await next
      if (fetched.length === 0) break
      next = fetch()
      yield fetched
    }
    await rows(`close ${cursor}`)
  }

  /**
   * Refuses a table that was emptied, or lost a chunk, since the snapshot: neither is bound by it. From the declaration of
   * a cursor on both have to wait for its end. The files of tables are here those of the snapshot, there the present ones.
   *
   * @throws {ImportError} that says so.
   */
  async function refuseEmptied(table: string): Promise<void> {
    const changed = await rows(
      `with recursive parts(oid) as (
         select to_regclass('${table}')::oid
         union select inhrelid from pg_inherits join parts on inhparent = parts.oid
       )
       select relname::text from parts join pg_class on pg_class.oid = parts.oid
       where relkind = 'r' and pg_class.relfilenode is distinct from pg_relation_filenode(pg_class.oid) limit 1`,
    )
    if (changed.length === 0) return
    throw new ImportError(
      `${name}: its table ${table} was emptied, rewritten, or has lost a part while it was imported (${changed[0]![0]}); import again, while the data node deletes nothing`,
    )
  }

  async function unlessAborted<T>(work: Promise<T>): Promise<T> {
    if (signal === undefined) return work
    work.catch(() => {})
    signal.throwIfAborted()
    const { promise, reject } = Promise.withResolvers<never>()
    const abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort)
    try {
      return await Promise.race([work, promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  function explain(error: unknown): unknown {
    const { code, message } = error as Error & { code?: string }
    if (code === '42501') {
      return new ImportError(
        `${name}: ${message}. Grant it to the user: grant usage on schema public, grant select on all tables in schema public`,
        { cause: error },
      )
    }
    return explainPostgresError(name, error)
  }

  return { name, open, close, rows, readByCursor }
}

type Database = ReturnType<typeof databaseAt>

/** The columns of the tables that are read, by table. */
async function readTableColumns(database: Database): Promise<Map<string, Set<string>>> {
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

function lackOf(
  known: ReadonlyMap<string, ReadonlySet<string>>,
  { table, columns }: Pick<TableQuery, 'table' | 'columns'>,
): string | null {
  const there = known.get(table)
  if (there === undefined) return `table ${table}`
  const missing = columns.find((column) => !there.has(column))
  return missing === undefined ? null : `column ${missing} in its table ${table}`
}

async function referenceVersionOf(database: Database): Promise<number> {
  const [row] = await database.rows(
    `select max(version_id)::text from
       (select distinct on (version_id) version_id, is_applied from goose_db_version order by version_id, id desc) last
     where is_applied`,
  )
  return Number(row?.[0] ?? 0)
}

async function chainOf(database: Database): Promise<string> {
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
  database: Database,
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
  database: Database,
  query: TableQuery,
  from: number,
  progress: SourceProgress,
): AsyncGenerator<HistoryRow[], void, undefined> {
  const { table, columns, key, hasLists, isInState } = query
  // Rows without a block come first, to be counted.
  const texts = hasLists
    ? columnsAsText(columns)
    : columns.map((column) => `left(t."${column}"::text, ${MAX_HISTORY_FIELD_LENGTH})`).join(', ')
  const text = `select ${texts}, b.height::text from ${relationOf(query)} t
    left join blocks b on b.vega_time = t.vega_time where b.height >= ${from} or b.height is null
    order by b.height nulls first, ${key.map((column) => `t.${column}`).join(', ')}`
  const fetched = hasLists ? await fetchedRowsOf(database, query) : FETCHED_ROWS
  for await (const rows of database.readByCursor(table, text, fetched)) {
    countRead(rows, progress)
    const found: HistoryRow[] = []
    for (const row of rows) {
      const height = row.pop()
      if (height != null) found.push({ height: Number(height), row })
      else if (!isInState) progress.withoutBlock++
    }
    if (found.length > 0) yield found
  }
}

/** The rows of a table, as a relation. Those of some blocks are looked up one block after the other. */
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
 * @throws {ImportError} if one is too large.
 */
async function fetchedRowsOf(database: Database, query: TableQuery): Promise<number> {
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
  database: Database,
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

/** The height of the only block of a second; for a time that is not cut to one, of the block of that time. */
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
