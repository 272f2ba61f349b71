import type { Client } from 'pg'
import { StoreError } from '../../errors.ts'
import {
  completeUpgrade,
  newestVersion,
  refuseOlderVersion,
  refuseUnknownVersion,
  stepsFrom,
} from '../../schema-version.ts'
import type { PostgresAddress } from '../address.ts'
import { hasDistributedTables } from '../cluster/cluster.ts'
import { publishOthers } from '../cluster/publication.ts'
import { onConnection } from '../connection/connection.ts'
import { type Queryable, queryRows } from '../connection/query-rows.ts'
import { writerConfig } from '../connection/session.ts'
import { withFreshConnections, withPostgresErrors } from '../errors.ts'
import { runPostgresMutation } from '../run-sql.ts'
import { POSTGRES_SCHEMA } from '../schema.ts'
import { grantOnNewTables, readSharedGrants } from './grants.ts'

/** The name from which the advisory lock of schema changes is derived. */
export function migrationLockName({ schema }: PostgresAddress): string {
  return `lyra migrate ${schema}`
}

/**
 * Upgrades the schema under an advisory lock, so that any number of processes may start at once.
 *
 * @throws {StoreError} if this program does not know the schema's version, or the user may not create tables.
 */
export function migrate(
  address: PostgresAddress,
  onNotice: (message: string) => void = () => {},
): Promise<void> {
  const bringUpToDate = (client: Client) => upgrade(client, address, onNotice)
  return withPostgresErrors(address.name, () =>
    withFreshConnections(() => onConnection(writerConfig(address), bringUpToDate)),
  )
}

async function upgrade(
  client: Client,
  address: PostgresAddress,
  onNotice: (message: string) => void,
): Promise<void> {
  if ((await schemaVersion(client, address)) === newestVersion(POSTGRES_SCHEMA)) return
  // Resources that the older version did not store begin after all blocks that it has committed.
  if (await hasDistributedTables(client, address.schema)) await publishOthers(client)
  await client.query('begin')
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [migrationLockName(address)])
  await client.query(`create schema if not exists ${address.schema}`)
  await client.query('create table if not exists schema_version (version integer not null)')
  const version = await schemaVersion(client, address)
  const shared = version === 0 ? null : await readSharedGrants(client, address.schema)
  await runSchemaSteps(client, stepsFrom(POSTGRES_SCHEMA, version))
  await runPostgresMutation(client, completeUpgrade(POSTGRES_SCHEMA, version, onNotice))
  if (shared !== null) await grantOnNewTables(client, address.schema, shared, onNotice)
  await client.query('delete from schema_version')
  await client.query('insert into schema_version (version) values ($1)', [newestVersion(POSTGRES_SCHEMA)])
  await client.query('commit')
}

/**
 * Runs steps of the schema, one statement at a time. A cluster sends a statement about a distributed table unchanged to its
 * machines, which accept only one.
 */
export async function runSchemaSteps(
  client: Pick<Queryable, 'query'>,
  steps: readonly string[],
): Promise<void> {
  for (const step of steps) for (const statement of statementsOf(step)) await client.query(statement)
}

/** The statements of a step, without comments, which may contain semicolons. Its SQL texts contain neither. */
function statementsOf(step: string): string[] {
  return step
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

/**
 * Checks that the schema has this program's version.
 *
 * @throws {StoreError} if it has another one, or there is no schema.
 */
export async function refuseOutdated(address: PostgresAddress): Promise<void> {
  refuseOlderVersion(POSTGRES_SCHEMA, await schemaVersionOf(address), address.name)
}

/** The schema's version, read over a separate connection; 0 if there is none. */
export function schemaVersionOf(address: PostgresAddress): Promise<number> {
  return withPostgresErrors(address.name, () =>
    onConnection(writerConfig(address), (client) => schemaVersion(client, address)),
  )
}

/**
 * The schema's version; 0 if there is none.
 *
 * @throws {StoreError} if this program does not know it, or the server is a worker of a cluster.
 */
export async function schemaVersion(client: Queryable, { name, schema }: PostgresAddress): Promise<number> {
  const [[table, marketsTable]] = (await queryRows(
    client,
    'select to_regclass($1)::text, to_regclass($2)::text',
    [`${schema}.schema_version`, `${schema}.markets`],
  )) as [[string | null, string | null]]
  if (table === null && marketsTable !== null) {
    throw new StoreError(
      `${name}: this is a Citus worker; give the address of the coordinator, or a replica of it`,
    )
  }
  if (table === null) return 0
  const [row] = await queryRows(client, 'select version from schema_version')
  const version = Number(row?.[0] ?? 0)
  refuseUnknownVersion(POSTGRES_SCHEMA, version, name)
  return version
}
