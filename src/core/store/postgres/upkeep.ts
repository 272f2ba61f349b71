import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { EVERY_CHANGE } from '../changes.ts'
import type { Upkeep } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { commitEverywhere, hasDistributedTables } from './cluster.ts'
import { connect, queryRows, writeChanges, writerConfig } from './connection.ts'
import { explainPostgresError, isConnectionLost, isPassing, withPostgresErrors } from './errors.ts'
import { runPostgresMutation } from './run-sql.ts'

/** How long a transaction waits for rows that a writer has locked, before it releases its own locks, in milliseconds. */
const ROW_LOCK_WAIT_MS = 200

/** How often a chunk is tried, and the wait between two attempts. */
const CHUNK_ATTEMPTS = 20
const CHUNK_RETRY_MS = 250

/** SQLSTATE of a lock that was not granted in time. */
const LOCK_NOT_AVAILABLE = '55P03'

/** Opens upkeep on a separate connection, beside the one that has the writer's lock. */
export async function openPostgresUpkeep(address: PostgresAddress): Promise<Upkeep> {
  let client: Client | null = null
  /** Whether the tables are distributed over a cluster. */
  let isDistributed = false

  async function connected(): Promise<Client> {
    if (client !== null) return client
    client = await connect(writerConfig(address))
    await client.query(`set lock_timeout = ${ROW_LOCK_WAIT_MS}`)
    isDistributed = await hasDistributedTables(client, address.schema)
    return client
  }

  /** Runs work, and runs it again if it blocked a writer, or if the server was briefly unreachable. */
  async function withRetries<T>(work: (client: Client) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(await connected())
      } catch (error) {
        await client?.query('rollback').catch(() => {})
        if (client !== null && isConnectionLost(error)) {
          await client.end().catch(() => {})
          client = null
        }
        const passes = isPassing(error) || (error as { code?: string }).code === LOCK_NOT_AVAILABLE
        if (!passes || attempt === CHUNK_ATTEMPTS) throw explainPostgresError(address.name, error)
        await sleep(CHUNK_RETRY_MS)
      }
    }
  }

  await withPostgresErrors(address.name, connected)

  return {
    read: ({ text, values }) => withRetries((asked) => queryRows(asked, text, values)),

    write: (mutation) =>
      withRetries(async (locked) => {
        await locked.query('begin')
        const rows = await runPostgresMutation(locked, mutation(), isDistributed)
        if (rows > 0 && isDistributed) {
          await commitEverywhere(locked)
          await locked.query('begin')
        }
        if (rows > 0) await writeChanges(locked, EVERY_CHANGE)
        await locked.query('commit')
        return rows
      }),

    close: async () => {
      await client?.end().catch(() => {})
    },
  }
}
