import type { ClientConfig } from 'pg'
import type { PostgresAddress } from '../address.ts'

/** Time limit of a reader's statement, until its answer has arrived. */
const READ_TIMEOUT_MS = 5_000

/** Time limit of a writer's statement; a batch takes well below a second. */
const WRITE_TIMEOUT_MS = 120_000

/**
 * A page reads along an index, whatever the planner estimates, because it must not collect rows before it returns the
 * first. A merge join with a condition's rows would start at the first of them, however far on the page begins.
 */
const WALK_SETTINGS = {
  enable_bitmapscan: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  jit: 'off',
}

/**
 * The same few statements need not be planned each time. On a cluster they must be, because planning finds the machine of a
 * market.
 */
const PLAN_ONCE = { plan_cache_mode: 'force_generic_plan' }

/**
 * Options of a connection, and settings of its session. Settings are made by a statement, because a pooler may drop those
 * of the start.
 */
export type SessionConfig = ClientConfig & { pipeline: boolean; session: Readonly<Record<string, string>> }

/**
 * Options of readers' connections: the statements of one page are sent at once.
 *
 * @param isDistributed whether the tables are distributed over a cluster (cluster/cluster.ts)
 */
export function readerConfig({ config, schema }: PostgresAddress, isDistributed: boolean): SessionConfig {
  return {
    ...config,
    session: {
      search_path: schema,
      statement_timeout: String(READ_TIMEOUT_MS),
      default_transaction_read_only: 'on',
      ...WALK_SETTINGS,
      ...(isDistributed ? {} : PLAN_ONCE),
    },
    query_timeout: READ_TIMEOUT_MS + 2_000,
    pipeline: true,
  }
}

/**
 * Options of writers' connections: independent statements are sent at once. The server must notice within seconds if a
 * writer's machine is gone, so that another one can take over.
 */
export function writerConfig({ config, schema }: PostgresAddress): SessionConfig {
  return {
    ...config,
    session: {
      search_path: schema,
      statement_timeout: String(WRITE_TIMEOUT_MS),
      tcp_keepalives_idle: '2',
      tcp_keepalives_interval: '1',
      tcp_keepalives_count: '2',
    },
    query_timeout: WRITE_TIMEOUT_MS + 5_000,
    pipeline: true,
  }
}

/** Begins a transaction whose statements all see one snapshot. */
export const BEGIN_SNAPSHOT = 'begin transaction isolation level repeatable read, read only'
