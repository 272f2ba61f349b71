import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { type Coverage, haveSameBlocks } from '../../domain/coverage.ts'
import type { Batch } from '../../model/batch.ts'
import { refusePartOfCopy } from '../admin/part-of-copy.ts'
import { awaitLock } from '../admin/standby.ts'
import { SeriesBuilder } from '../charts/series-builder.ts'
import { StoreError, StoreRefusedError } from '../errors.ts'
import { readCoverage } from '../queries/coverage.ts'
import type { GainedRows, Mutation } from '../queries-protocol.ts'
import type { Writer, WriterOptions } from '../store.ts'
import type { MarketNumbers } from '../write/market-numbers.ts'
import { writeBatch } from '../write/write-batch.ts'
import type { PostgresAddress } from './address.ts'
import { commitEverywhere, hasDistributedTables } from './cluster/cluster.ts'
import {
  keepUnpublished,
  publicationOf,
  publishAndCommit,
  publishOthers,
  publishWaiting,
} from './cluster/publication.ts'
import { connect } from './connection/connection.ts'
import { queryRows } from './connection/query-rows.ts'
import { writerConfig } from './connection/session.ts'
import {
  explainPostgresError,
  isConnectionLost,
  isPassing,
  withFreshConnections,
  withPostgresErrors,
} from './errors.ts'
import { runPostgresMutation, runPostgresQuery, sendPostgresMutation } from './run-sql.ts'

/** The first and the longest wait before work is tried again. */
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5_000

const TRY_WRITER_LOCK = 'select pg_try_advisory_lock(hashtextextended($1, 0))'

const MAY_WRITE = `
  select has_table_privilege('stream', 'insert') and has_table_privilege('stream', 'update')
    and has_table_privilege('stream', 'delete')`

/** The name from which the writer's advisory lock is derived. */
export function writerLockName({ schema }: PostgresAddress): string {
  return `lyra writer ${schema}`
}

/** A connection that has the writer's lock, and whether the tables are distributed over a cluster. */
type Locked = { client: Client; isDistributed: boolean }

/**
 * Opens a writer. By an advisory lock, there is one at a time for each schema: another one waits here, as a standby, until
 * the first is gone. It waits while a connection is lost, and while the server restarts or fails over.
 */
export async function openPostgresWriter(address: PostgresAddress, options: WriterOptions): Promise<Writer> {
  const writer = new PostgresWriter(address, options)
  await withPostgresErrors(address.name, () => withFreshConnections(() => writer.lock()))
  return writer
}

/** The writer of one schema. It connects anew after temporary faults, and then waits for the lock again. */
class PostgresWriter implements Writer {
  readonly #address: PostgresAddress
  readonly #options: WriterOptions
  /** Emptied after any error: an uncommitted transaction may have numbered markets. */
  readonly #markets: MarketNumbers = new Map()
  readonly #builder = new SeriesBuilder()
  /** Null while it is not connected. */
  #locked: Locked | null = null
  /** The coverage at the last commit, or as read; undefined before either. */
  #lastCoverage: Coverage | null | undefined

  constructor(address: PostgresAddress, options: WriterOptions) {
    this.#address = address
    this.#options = options
  }

  async coverage(): Promise<Coverage | null> {
    this.#lastCoverage = await this.#withRetries(async ({ client }) => {
      await runPostgresQuery(client, refusePartOfCopy(this.#address.name))
      return runPostgresQuery(client, readCoverage())
    })
    return this.#lastCoverage
  }

  async commit(batch: Batch, coverage: Coverage): Promise<GainedRows> {
    const gained = await this.#withRetries((locked) => this.#tryCommit(locked, batch, coverage))
    this.#lastCoverage = coverage
    return gained
  }

  buildSeries(which: 'due' | 'all', signal?: AbortSignal): Promise<void> {
    return this.#builder.build(which, (mutation) => this.#run(mutation), signal)
  }

  async close(): Promise<void> {
    const locked = this.#locked
    this.#locked = null
    this.#forget()
    await locked?.client.end().catch(() => {})
  }

  /** Connects and waits for the lock, unless this writer has it. */
  async lock(): Promise<Locked> {
    if (this.#locked !== null) return this.#locked
    const { name, schema } = this.#address
    const client = await connect(writerConfig(this.#address))
    try {
      await awaitLock(name, this.#options, () => this.#tryLock(client))
      await this.#refuseReadOnly(client)
      const isDistributed = await hasDistributedTables(client, schema)
      if (isDistributed) await publishOthers(client, { signal: this.#options.signal })
      this.#locked = { client, isDistributed }
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
    return this.#locked
  }

  async #tryLock(client: Client): Promise<true | null> {
    const [row] = await queryRows(client, TRY_WRITER_LOCK, [writerLockName(this.#address)])
    return (row![0] as unknown) === true || null
  }

  async #refuseReadOnly(client: Client): Promise<void> {
    const [right] = await queryRows(client, MAY_WRITE)
    if ((right![0] as unknown) !== false) return
    throw new StoreRefusedError(
      `${this.#address.name}: this user may only read; grant it insert, update and delete on the tables, or use another user`,
    )
  }

  /** Runs work, and runs it again after temporary faults. The signal ends the waiting. */
  async #withRetries<T>(work: (locked: Locked) => Promise<T>): Promise<T> {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(2 * wait, LONGEST_RETRY_MS)) {
      try {
        return await work(await this.lock())
      } catch (error) {
        const explanation = explainPostgresError(this.#address.name, error)
        if (!isPassing(error)) {
          // Closing the connection ends the transaction, which is open after an error.
          await this.close()
          throw explanation
        }
        await this.#endTransaction(error)
        this.#options.onNotice?.(`${explanation.message}; trying again`)
        await sleep(wait, undefined, { signal: this.#options.signal })
      }
    }
  }

  /** Ends the transaction that has failed with an error, if the connection is left. */
  async #endTransaction(error: unknown): Promise<void> {
    if (isConnectionLost(error) || this.#locked === null) {
      await this.close()
      return
    }
    this.#forget()
    await this.#locked.client.query('rollback').catch(() => this.close())
  }

  /** Forgets the state of a lost transaction. */
  #forget(): void {
    this.#markets.clear()
    this.#builder.clear()
  }

  /** Runs a mutation in a transaction of its own. */
  #run(mutation: () => Mutation): Promise<void> {
    return this.#withRetries(async ({ client, isDistributed }) => {
      await client.query('begin')
      await runPostgresMutation(client, mutation(), isDistributed)
      if (isDistributed) await this.#commitEverywhere(client)
      else await client.query('commit')
    })
  }

  async #tryCommit({ client, isDistributed }: Locked, batch: Batch, coverage: Coverage): Promise<GainedRows> {
    const gained: GainedRows = new Map()
    const before = this.#lastCoverage
    const begun = Promise.all([client.query('begin'), runPostgresQuery(client, readCoverage())])
    begun.catch(() => {})
    const unanswered: Promise<unknown>[] = [begun]
    const mutation = writeBatch(batch, this.#markets, this.#builder)
    await sendPostgresMutation(client, mutation, { isDistributed, gained, unanswered })
    const [, stored] = await begun
    // After a lost connection it is unknown whether the commit has succeeded. Writing the same again is harmless.
    if (before !== undefined && !haveSameBlocks(stored, before) && !haveSameBlocks(stored, coverage)) {
      await client.query('rollback')
      throw new StoreError(
        `${this.#address.name}: another writer took over, up to block ${stored?.height ?? 'none'}; start again to resume from there`,
      )
    }
    const publication = publicationOf(batch, before ?? null, coverage)
    if (isDistributed) {
      await Promise.all(unanswered)
      await keepUnpublished(client, publication)
      await this.#commitEverywhere(client)
      await publishWaiting(client)
    } else {
      await Promise.all([...unanswered, publishAndCommit(client, publication)])
    }
    return gained
  }

  #commitEverywhere(client: Client): Promise<void> {
    const { signal, onNotice = () => {} } = this.#options
    return commitEverywhere(client, { signal, onNotice })
  }
}
