import { StoreError } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { connect, type Queryable, rowsOf, writerConfig } from './connection.ts'
import { explainPostgresError } from './errors.ts'

/** Tables that grow with the markets, and the column that says which market a row is of. */
export const DISTRIBUTED_TABLES = {
  funding_period_data_points: 'market',
  funding_period_spans: 'market',
  funding_period_block_spans: 'market',
  funding_periods: 'market_id',
  auctions: 'market_id',
  liquidity_provider_lists: 'market_id',
  liquidity_providers: 'market_id',
} as const

/** Tables that every machine holds whole: they are small, and others are joined with them. */
const REFERENCE_TABLES = ['markets', 'liquidity_provisions'] as const

const IS_DISTRIBUTED = `
  select count(*)::int from pg_dist_partition where logicalrel = $1::regclass`

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
    for (const table of REFERENCE_TABLES) {
      if (!(await isDistributed(client, table)))
        await client.query('select create_reference_table($1)', [table])
    }
    for (const [table, column] of Object.entries(DISTRIBUTED_TABLES)) {
      if (!(await isDistributed(client, table))) {
        await client.query('select create_distributed_table($1, $2)', [table, column])
      }
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
