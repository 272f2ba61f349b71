import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Row } from '../../model/resource.ts'
import { EVERY_CHANGE } from '../changes.ts'
import type { Mutation, Statement } from '../queries-protocol.ts'
import type { Upkeep } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { commitEverywhere, hasDistributedTables } from './cluster/cluster.ts'
import { connect } from './connection/connection.ts'
import { queryRows } from './connection/query-rows.ts'
import { writerConfig } from './connection/session.ts'
import { explainPostgresError, isConnectionLost, isPassing, withPostgresErrors } from './errors.ts'
import { runPostgresMutation } from './run-sql.ts'
import { writeChanges } from './write-changes.ts'

/** How long a transaction waits for rows that a writer has locked, before it releases its own locks, in milliseconds. */
const ROW_LOCK_WAIT_MS = 200

/** How often a chunk is tried, and the wait between two attempts. */
const CHUNK_ATTEMPTS = 20
const CHUNK_RETRY_MS = 250

/** SQLSTATE of a lock that was not granted in time. */
const LOCK_NOT_AVAILABLE = '55P03'

/** Opens upkeep on a separate connection, beside the one that has the writer's lock. */
export async function openPostgresUpkeep(address: PostgresAddress): Promise<Upkeep> {
  const upkeep = new PostgresUpkeep(address)
  await withPostgresErrors(address.name, () => upkeep.connect())
  return upkeep
}

class PostgresUpkeep implements Upkeep {
  readonly #address: PostgresAddress
  /** Null before the first connection, and once it is lost. */
  #client: Client | null = null
  /** Whether the tables are distributed over a cluster. */
  #isDistributed = false

  constructor(address: PostgresAddress) {
    this.#address = address
  }

  /** The open connection, or a new one. */
  async connect(): Promise<Client> {
    if (this.#client !== null) return this.#client
    const client = await connect(writerConfig(this.#address))
    try {
      await client.query(`set lock_timeout = ${ROW_LOCK_WAIT_MS}`)
      this.#isDistributed = await hasDistributedTables(client, this.#address.schema)
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
    this.#client = client
    return client
  }

  read({ text, values }: Statement): Promise<Row[]> {
    return this.#withRetries((client) => queryRows(client, text, values))
  }

  write(mutation: () => Mutation<number>): Promise<number> {
    return this.#withRetries(async (client) => {
      await client.query('begin')
      const rows = await runPostgresMutation(client, mutation(), this.#isDistributed)
      if (rows > 0 && this.#isDistributed) {
        await commitEverywhere(client)
        await client.query('begin')
      }
      if (rows > 0) await writeChanges(client, EVERY_CHANGE)
      await client.query('commit')
      return rows
    })
  }

  async close(): Promise<void> {
    await this.#client?.end().catch(() => {})
  }

  /** Runs work, and runs it again if it blocked a writer, or if the server was briefly unreachable. */
  async #withRetries<T>(work: (client: Client) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(await this.connect())
      } catch (error) {
        await this.#client?.query('rollback').catch(() => {})
        if (this.#client !== null && isConnectionLost(error)) {
          await this.#client.end().catch(() => {})
          this.#client = null
        }
        const passes = isPassing(error) || (error as { code?: string }).code === LOCK_NOT_AVAILABLE
        if (!passes || attempt === CHUNK_ATTEMPTS) throw explainPostgresError(this.#address.name, error)
        await sleep(CHUNK_RETRY_MS)
      }
    }
  }
}
