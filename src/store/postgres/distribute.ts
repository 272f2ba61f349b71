import { StoreError } from '../store.ts'
import { TABLES } from '../tables.ts'
import type { PostgresAddress } from './address.ts'
import { connect, type Queryable, rowsOf, writerConfig } from './connection.ts'
import { explainPostgresError } from './errors.ts'

const IS_DISTRIBUTED = `
  select count(*)::int from pg_dist_partition where logicalrelid = $1::regclass`

/**
 * Spreads the tables over a Citus cluster, by market; does nothing for those that are spread already.
 *
 * @throws {StoreError} where the server has no Citus.
 */
export async function distribute(address: PostgresAddress): Promise<void> {
  const client = await connect(writerConfig(address)).catch((error: unknown) => {
    throw explainPostgresError(address.name, error)
  })
  try {
    const [row] = await rowsOf(client, "select count(*)::int from pg_extension where extname = 'citus'")
    if (Number(row![0]) === 0) {
      throw new StoreError(
        `${address.name}: the database has no Citus; install it and run \`create extension citus\` first`,
      )
    }
    for (const { name, spread } of TABLES) {
      if (spread === undefined || (await isDistributed(client, name))) continue
      if (spread === 'everywhere') await client.query('select create_reference_table($1)', [name])
      else await client.query('select create_distributed_table($1, $2)', [name, spread])
    }
  } catch (error) {
    throw explainPostgresError(address.name, error)
  } finally {
    await client.end()
  }
}

async function isDistributed(client: Queryable, table: string): Promise<boolean> {
  const [row] = await rowsOf(client, IS_DISTRIBUTED, [table])
  return Number(row![0]) > 0
}
