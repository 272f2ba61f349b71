import { withoutPassword } from '#core/store/postgres/address'
import { ImportError } from '../import-error.ts'
import { isChainId } from '../reference-values.ts'
import { checkSchemaVersion } from '../schema-versions.ts'
import type {
  CurrentRow,
  HistoryPart,
  ImportSource,
  SourceOptions,
  SourceProgress,
  TableQuery,
} from '../source.ts'
import { heightOf, readBlocks, readHistory, readState } from './read-rows.ts'
import { ReadableTables } from './readable-tables.ts'
import { ReferenceDatabase } from './reference-database.ts'

const CONNECT_TIMEOUT_MS = 5_000

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
  const database = await databaseAt(address, signal)
  try {
    await database.open()
    for (const text of SETTINGS) await database.rows(text)
    const tables = await ReadableTables.of(database)
    tables.refuseOtherDatabase()
    checkSchemaVersion(database.name, await referenceVersionOf(database), force)
    return new PostgresSource(database, tables, await chainOf(database), await endsOf(database))
  } catch (error) {
    await database.close()
    throw error
  }
}

/** A database that is not connected yet. */
async function databaseAt(address: string, signal: AbortSignal | undefined): Promise<ReferenceDatabase> {
  if (!URL.canParse(address)) {
    throw new ImportError('the database address is malformed; use postgres://user@host/database')
  }
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
  return new ReferenceDatabase(withoutPassword(new URL(address)), newClient, signal)
}

/** A data node's database, whose history is one part. */
class PostgresSource implements ImportSource {
  readonly name: string
  readonly chainId: string
  readonly parts: readonly HistoryPart[]
  readonly progress: SourceProgress
  readonly #database: ReferenceDatabase
  readonly #tables: ReadableTables

  constructor(
    database: ReferenceDatabase,
    tables: ReadableTables,
    chainId: string,
    ends: HistoryPart['ends'],
  ) {
    this.name = database.name
    this.chainId = chainId
    this.progress = { source: database.name, bytesRead: 0, rows: 0, withoutBlock: 0 }
    this.#database = database
    this.#tables = tables
    this.parts = [
      {
        name: database.name,
        ends,
        whyUnreadable: (query) => tables.whyUnreadable(query),
        blocks: (from) => readBlocks(database, from, this.progress),
        history: (query, from) => readHistory(database, query, from, this.progress),
      },
    ]
  }

  whyUnreadable(query: TableQuery): string | null {
    return this.#tables.whyUnreadable(query)
  }

  state(query: TableQuery): AsyncIterable<readonly CurrentRow[]> {
    return readState(this.#database, query, this.progress)
  }

  close(): Promise<void> {
    return this.#database.close()
  }
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

/** The lowest and the highest height in the table of blocks; null if it is empty. */
async function endsOf(database: ReferenceDatabase): Promise<HistoryPart['ends']> {
  const [ends] = await database.rows('select min(height)::text, max(height)::text from blocks')
  if (ends?.[0] == null) return null
  return { from: heightOf(database.name, ends[0]), to: heightOf(database.name, ends[1]!) }
}
