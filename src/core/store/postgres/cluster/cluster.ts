import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { ClusterFaults } from '../../inspection.ts'
import { TABLES } from '../../schema/tables.ts'
import { type Queryable, queryRows } from '../connection/query-rows.ts'

/*
 * On a Citus cluster a commit is not atomic for readers: rows on the coordinator are visible first, rows on a worker only
 * once it has processed the commit. Therefore rows are committed first. Once they are visible everywhere, the store head
 * and the changes follow, which are stored only on the coordinator (publication.ts).
 */

/** The table of the pending publication of committed rows, with the session that has committed them. */
export const MAKE_UNPUBLISHED = `
  create table if not exists unpublished (
    id smallint primary key check (id = 1),
    publication text not null,
    session integer not null default pg_backend_pid()
  )`

/** Whether the database is one of a Citus cluster. */
export async function hasCitus(client: Queryable): Promise<boolean> {
  const [row] = await queryRows(client, "select to_regclass('pg_catalog.pg_dist_partition')::text")
  return row![0] !== null
}

/** Whether the tables are distributed over the machines of a cluster (admin/distribute.ts). */
export async function hasDistributedTables(client: Queryable, schema: string): Promise<boolean> {
  const [row] = await queryRows(client, 'select to_regclass($1)::text', [`${schema}.unpublished`])
  return row![0] !== null
}

const READ_LOCAL = `
  select name from unnest(string_to_array($1, ' ')) name
  where to_regclass($2 || '.' || name) is not null
    and not exists (select from pg_dist_partition where logicalrelid = to_regclass($2 || '.' || name))
  order by name`

const READ_DOWN = `
  select nodeid, nodename || ':' || nodeport
  from run_command_on_workers('select 1') join pg_dist_node using (nodename, nodeport)
  where not success order by 1`

/** Faults of the store's cluster; null if the store is not distributed. */
export async function readClusterFaults(client: Queryable, schema: string): Promise<ClusterFaults | null> {
  if (!(await hasCitus(client)) || !(await hasDistributedTables(client, schema))) return null
  const names = TABLES.filter(({ distribution }) => distribution !== 'nowhere').map(({ name }) => name)
  const local = await queryRows(client, READ_LOCAL, [names.join(' '), schema])
  const down = await queryRows(client, READ_DOWN)
  return {
    localTables: local.map(([name]) => String(name)),
    workersDown: down.map(([node, address]) => ({ node: Number(node), address: String(address) })),
  }
}

/** Citus's warning that a worker is unreachable after it has promised to commit. */
const UNSETTLED = /^failed to commit transaction on /

const SETTLE = 'select recover_prepared_transactions()'

/** Commits of a session that workers may not have processed yet. */
const READ_UNSETTLED = `
  select count(*)::int from pg_dist_transaction where gid like concat('citus\\_0\\_', $1::int, '\\_%')`

/** SQLSTATE of a function that the user may not call. */
const NOT_ALLOWED = '42501'

const SETTLE_RETRY_MS = 500

/** How a wait ends early, and how it is reported. */
export type WaitOptions = { signal?: AbortSignal | undefined; onNotice?: (message: string) => void }

/** Commits rows on a cluster. Returns once all workers show them. */
export async function commitEverywhere(client: Client, waiting: WaitOptions = {}): Promise<void> {
  const warnings: string[] = []
  const listen = ({ message = '' }: { message?: string | undefined }) => {
    if (UNSETTLED.test(message)) warnings.push(message)
  }
  client.on('notice', listen)
  try {
    await client.query('commit')
  } finally {
    client.off('notice', listen)
  }
  if (warnings.length === 0) return
  waiting.onNotice?.(`${warnings[0]}; waiting until the worker is back and has committed it`)
  const [row] = await queryRows(client, 'select pg_backend_pid()')
  await settle(client, Number(row![0]), waiting)
}

/**
 * Waits until workers have processed a session's commits. It asks them to; if the user may not do so, the coordinator does
 * it every `citus.recover_2pc_interval`.
 */
export async function settle(client: Client, session: number, { signal }: WaitOptions): Promise<void> {
  if (!(await hasCitus(client))) return
  for (;;) {
    await client.query(SETTLE).catch((error: unknown) => {
      if ((error as { code?: string }).code !== NOT_ALLOWED) throw error
    })
    const [row] = await queryRows(client, READ_UNSETTLED, [String(session)])
    if (Number(row![0]) === 0) return
    await sleep(SETTLE_RETRY_MS, undefined, { signal })
  }
}
