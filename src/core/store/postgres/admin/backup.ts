import type { PostgresAddress } from '../address.ts'
import { hasCitus, hasDistributedTables } from '../cluster/cluster.ts'
import { onConnection } from '../connection/connection.ts'
import { writerConfig } from '../connection/session.ts'

/** The exact commands that copy a store to a file, and restore it. */
export async function backupAdvice(address: PostgresAddress, file: string): Promise<string> {
  const { name, schema } = address
  const url = new URL(name)
  // The parameter `schema` is Lyra's, not libpq's.
  url.searchParams.delete('schema')
  return (
    `${name}: back up a PostgreSQL store with its own tools: ` +
    `pg_dump --format=custom --schema=${schema} --file=${shellWord(file)} ${shellWord(url.toString())}` +
    ((await isOnCluster(address)) ? restoreSteps(name, url, file) : '')
  )
}

/** A dump contains the rows, but not their distribution. */
function restoreSteps(name: string, url: URL, file: string): string {
  return (
    `. Its tables are distributed, and restored ones are not: to restore it, stop every service of this store, run ` +
    `pg_restore --clean --if-exists --dbname=${shellWord(url.toString())} ${shellWord(file)}, then ` +
    `lyra migrate --citus --store ${shellWord(name)}, and start the services again`
  )
}

/**
 * Whether the store is on a cluster. Also false if the server is unreachable, because the commands are printed in any case.
 */
function isOnCluster(address: PostgresAddress): Promise<boolean> {
  return onConnection(
    writerConfig(address),
    async (client) => (await hasCitus(client)) && (await hasDistributedTables(client, address.schema)),
  ).catch(() => false)
}

/** A text as one word of a POSIX shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
