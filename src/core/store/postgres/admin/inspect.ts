import type { Client } from 'pg'
import { StoreError } from '../../errors.ts'
import { type DatabaseCheck, describeCluster, type StoreFacts } from '../../inspection.ts'
import { TABLES } from '../../schema/tables.ts'
import { newestVersion } from '../../schema-version.ts'
import type { PostgresAddress } from '../address.ts'
import { readClusterFaults } from '../cluster/cluster.ts'
import { onConnection } from '../connection/connection.ts'
import { queryRows } from '../connection/query-rows.ts'
import { writerConfig } from '../connection/session.ts'
import { withPostgresErrors } from '../errors.ts'
import { POSTGRES_SCHEMA } from '../schema.ts'
import { writerLockName } from '../writer.ts'
import { schemaVersion } from './migrate.ts'

/** Tables with their indexes. A partitioned table's partitions are tables of the schema too. */
const bytesText = (size: string) => `
  select coalesce(sum(${size}), 0)::text
  from pg_class where relnamespace = to_regnamespace($1) and relkind = 'r'`
const TABLE_BYTES = bytesText('pg_total_relation_size(pg_class.oid)')

/** The same for all machines of a cluster. Parts on the coordinator are counted with their table. */
const READ_BYTES_OF_CLUSTER = bytesText(`case
    when exists (select from pg_dist_partition where logicalrelid = pg_class.oid)
    then citus_total_relation_size(pg_class.oid) else pg_total_relation_size(pg_class.oid) end`)

/**
 * Whether a session has the writer's lock, its address, and the server's process. Null on a replica, which does not see the
 * primary's sessions.
 */
const READ_WRITER = `
  select case when pg_is_in_recovery() then null else count(pg_locks.pid) > 0 end,
    max(coalesce(host(client_addr), 'localhost')), max(pg_locks.pid)::int
  from pg_locks left join pg_stat_activity using (pid), (select hashtextextended($1, 0) as key) as lock
  where locktype = 'advisory' and granted and objsubid = 1
    and pg_locks.database = (select oid from pg_database where datname = current_database())
    and classid::bigint = (key >> 32) & 4294967295 and objid::bigint = key & 4294967295`

const READ_INVALID_INDEXES = `
  select relname from pg_index join pg_class on pg_class.oid = indexrelid
  where relnamespace = to_regnamespace($1) and not (indisvalid and indisready) order by relname`

/** Triggers that are not the server's own. */
const READ_TRIGGERS = `
  select tgname, relname from pg_trigger join pg_class on pg_class.oid = tgrelid
  where relnamespace = to_regnamespace($1) and not tgisinternal order by 2, 1`

const READ_COLUMNS = `
  select table_name || '.' || column_name from information_schema.columns where table_schema = $1`

/** Failures since the statistics were reset; null if checksums are off. */
const READ_CHECKSUM_FAILURES = `
  select checksum_failures::int from pg_stat_database where datname = current_database()`

const HAS_AMCHECK = `
  select extnamespace::regnamespace::text from pg_extension where extname = 'amcheck'`

const READ_BTREES = `
  select pg_class.oid::text, relname from pg_index
    join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam
  where relnamespace = to_regnamespace($1) and amname = 'btree' and relkind = 'i' and indisvalid order by relname`

/**
 * Facts about a store.
 *
 * @throws {StoreError} if there is none, its schema is unknown, or the server is unreachable.
 */
export function inspectPostgres(address: PostgresAddress): Promise<StoreFacts> {
  return ask(address, async (client) => {
    const version = await schemaVersion(client, address)
    if (version === 0) {
      throw new StoreError(
        `${address.name}: contains no store; create one with lyra migrate, or ingest event files`,
      )
    }
    const cluster = await readClusterFaults(client, address.schema)
    const isComplete = cluster !== null && cluster.workersDown.length === 0
    const readBytes = isComplete ? READ_BYTES_OF_CLUSTER : TABLE_BYTES
    const hasFaults = cluster !== null && !(isComplete && cluster.localTables.length === 0)
    const [[bytes], [hasWriter, host, process]] = (await Promise.all([
      queryRows(client, readBytes, [address.schema]).then(([row]) => row),
      queryRows(client, READ_WRITER, [writerLockName(address)]).then(([row]) => row),
    ])) as unknown as [[string], [boolean | null, string, number | null]]
    return {
      kind: 'postgres',
      bytes: Number(bytes),
      schemaVersion: version,
      programSchemaVersion: newestVersion(POSTGRES_SCHEMA),
      hasWriter,
      writer: process === null ? null : { host, process: Number(process) },
      ...(hasFaults ? { cluster } : {}),
    }
  })
}

/** Whether a session has the writer's lock; false if that is unknown, and if there is no store. */
export function hasPostgresWriter(address: PostgresAddress): Promise<boolean> {
  return ask(address, async (client) => {
    const [row] = await queryRows(client, READ_WRITER, [writerLockName(address)])
    return (row![0] as unknown) === true
  })
}

/** Asks the server for known damage. If its extension amcheck is installed, it compares every index with its table. */
export function checkPostgres(address: PostgresAddress): Promise<DatabaseCheck> {
  return ask(address, async (client) => {
    const problems: string[] = []
    const notes: string[] = []
    const columns = new Set((await queryRows(client, READ_COLUMNS, [address.schema])).map(([name]) => name))
    for (const table of TABLES) {
      for (const { name } of table.columns) {
        if (!columns.has(`${table.name}.${name}`)) {
          problems.push(`the schema: column ${table.name}.${name} is missing`)
        }
      }
    }
    for (const [trigger, table] of await queryRows(client, READ_TRIGGERS, [address.schema])) {
      problems.push(
        `the schema: trigger ${trigger} of ${table} does not belong to Lyra; it may change stored rows`,
      )
    }
    for (const [index] of await queryRows(client, READ_INVALID_INDEXES, [address.schema])) {
      problems.push(`the index ${index} is invalid; run: reindex index ${address.schema}.${index}`)
    }
    const cluster = await readClusterFaults(client, address.schema)
    if (cluster !== null) problems.push(...describeCluster(cluster, { withAddresses: true }))
    const [row] = await queryRows(client, READ_CHECKSUM_FAILURES)
    if (Number(row?.[0] ?? 0) > 0) problems.push(`the server has met ${row![0]} pages with a wrong check sum`)
    await checkIndexes(client, address, problems, notes)
    return { problems, notes }
  })
}

async function checkIndexes(
  client: Client,
  { schema }: PostgresAddress,
  problems: string[],
  notes: string[],
): Promise<void> {
  const [extension] = await queryRows(client, HAS_AMCHECK)
  if (extension === undefined) {
    notes.push('indexes not compared with their tables: the extension amcheck is not installed')
    return
  }
  await client.query('set statement_timeout = 0')
  for (const [oid, name] of await queryRows(client, READ_BTREES, [schema])) {
    try {
      await client.query(`select ${extension[0]}.bt_index_check($1::oid::regclass, true)`, [oid])
    } catch (error) {
      const { code, message } = error as Error & { code?: string }
      if (code === '42501') {
        notes.push('indexes not compared with their tables: this user may not run bt_index_check')
        return
      }
      // Codes for corrupted data and indexes, which this check looks for.
      if (!code?.startsWith('XX')) throw error
      problems.push(`the index ${name}: ${message}`)
    }
  }
}

function ask<T>(address: PostgresAddress, work: (client: Client) => Promise<T>): Promise<T> {
  return withPostgresErrors(address.name, () => onConnection(writerConfig(address), work))
}
