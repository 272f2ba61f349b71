import type { Client } from 'pg'
import { StoreError } from '../../errors.ts'
import { TABLES, type Table } from '../../schema/tables.ts'
import type { PostgresAddress } from '../address.ts'
import { hasCitus, hasDistributedTables, MAKE_UNPUBLISHED } from '../cluster/cluster.ts'
import { onConnection } from '../connection/connection.ts'
import { queryRows } from '../connection/query-rows.ts'
import { writerConfig } from '../connection/session.ts'
import { withPostgresErrors } from '../errors.ts'
import { writerLockName } from '../writer.ts'
import { grantOnNewTables, readSharedGrants } from './grants.ts'
import { migrationLockName } from './migrate.ts'

const IS_DISTRIBUTED = 'select count(*)::int from pg_dist_partition where logicalrelid = $1::regclass'

/** Rows that are older than a table's distribution stay local, and are invisible. */
const HAS_LOCAL_ROWS = 'select (pg_relation_size($1::regclass) > 0)::int'

const LOCK = 'select pg_advisory_lock(hashtextextended($1, 0))'
const TRY_LOCK = 'select pg_try_advisory_lock(hashtextextended($1, 0))::int'

type DistributedTable = Table & { distribution: Exclude<Table['distribution'], 'nowhere'> }

const DISTRIBUTED_TABLES = TABLES.filter(
  (table): table is DistributedTable => table.distribution !== 'nowhere',
)

/**
 * Distributes the tables and their rows over a Citus cluster, by market; skips tables that already are. Several processes
 * may run it at once.
 *
 * @throws {StoreError} if the server has no Citus, or a writer is connected.
 */
export function distribute(
  address: PostgresAddress,
  onNotice: (message: string) => void = () => {},
): Promise<void> {
  // Moving existing rows has no time limit.
  const config = { ...writerConfig(address), query_timeout: 0 }
  return withPostgresErrors(address.name, () =>
    onConnection(config, async (client) => {
      await client.query('set statement_timeout = 0')
      if (!(await hasCitus(client))) {
        throw new StoreError(
          `${address.name}: the database has no Citus; install it and run \`create extension citus\` first`,
        )
      }
      await queryRows(client, LOCK, [migrationLockName(address)])
      await distributeTables(client, address, onNotice)
    }),
  )
}

async function distributeTables(
  client: Client,
  address: PostgresAddress,
  onNotice: (message: string) => void,
): Promise<void> {
  const isTrue = async (text: string, name: string) =>
    Number((await queryRows(client, text, [name]))[0]![0]) > 0
  const left: DistributedTable[] = []
  for (const table of DISTRIBUTED_TABLES) if (!(await isTrue(IS_DISTRIBUTED, table.name))) left.push(table)
  const isDone = left.length === 0 && (await hasDistributedTables(client, address.schema))
  if (!isDone && !(await isTrue(TRY_LOCK, writerLockName(address)))) {
    throw new StoreError(
      `${address.name}: cannot distribute the tables while a writer is connected; stop lyra serve and lyra ingest, then run lyra migrate --citus again`,
    )
  }
  const shared = await readSharedGrants(client, address.schema)
  await client.query(MAKE_UNPUBLISHED)
  await grantOnNewTables(client, address.schema, shared, onNotice)
  for (const { name, distribution } of left) {
    if (distribution === 'everywhere') await client.query('select create_reference_table($1)', [name])
    else await client.query('select create_distributed_table($1, $2)', [name, distribution])
  }
  for (const { name } of DISTRIBUTED_TABLES) {
    if (await isTrue(HAS_LOCAL_ROWS, name))
      await client.query('select truncate_local_data_after_distributing_table($1)', [name])
  }
}
