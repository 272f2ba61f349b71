import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Coverage } from '../../domain/coverage.ts'
import type { Batch } from '../../model/batch.ts'
import { awaitLock } from '../admin/standby.ts'
import { SeriesBuilder } from '../charts/series-builder.ts'
import { StoreError, StoreRefusedError } from '../errors.ts'
import { readCoverage } from '../queries/coverage.ts'
import type { GainedRows, Mutation } from '../queries-protocol.ts'
import type { Writer, WriterOptions } from '../store.ts'
import type { MarketNumbers } from '../write/market-numbers.ts'
import { writeBatch } from '../write/write-batch.ts'
import type { PostgresAddress } from './address.ts'
import { commitEverywhere, hasDistributedTables } from './cluster.ts'
import { connect, queryRows, writerConfig } from './connection.ts'
import {
  explainPostgresError,
  isConnectionLost,
  isPassing,
  withFreshConnections,
  withPostgresErrors,
} from './errors.ts'
import { keepUnpublished, publicationOf, publish, publishOthers, publishWaiting } from './publication.ts'
import { runPostgresMutation, runPostgresQuery } from './run-sql.ts'

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
  const { name, schema } = address
  const { signal, onNotice = () => {} } = options
  /** Emptied when the connection is lost: an uncommitted transaction may have numbered markets. */
  const markets: MarketNumbers = new Map()
  const builder = new SeriesBuilder()
  let locked: Locked | null = null
  /** The coverage at the last commit, or as read; undefined before either. */
  let lastCoverage: Coverage | null | undefined

  async function coverage(): Promise<Coverage | null> {
    lastCoverage = await withRetries(({ client }) => runPostgresQuery(client, readCoverage()))
    return lastCoverage
  }

  async function commit(batch: Batch, coverage: Coverage): Promise<GainedRows> {
    const gained = await withRetries((locked) => tryCommit(locked, batch, coverage))
    lastCoverage = coverage
    return gained
  }

  /** Runs a mutation in a transaction of its own. */
  function run(mutation: () => Mutation): Promise<void> {
    return withRetries(async ({ client, isDistributed }) => {
      await client.query('begin')
      await runPostgresMutation(client, mutation(), isDistributed)
      if (isDistributed) await commitEverywhere(client, { signal, onNotice })
      else await client.query('commit')
    })
  }

  async function close(): Promise<void> {
    const lost = locked
    locked = null
    forget()
    await lost?.client.end().catch(() => {})
  }

  /** Forgets the state of a lost transaction. */
  function forget(): void {
    markets.clear()
    builder.clear()
  }

  /** Connects and waits for the lock, unless this writer has it. */
  async function lock(): Promise<Locked> {
    if (locked !== null) return locked
    const client = await connect(writerConfig(address))
    try {
      await awaitLock(name, options, () => tryLock(client))
      await refuseReadOnly(client)
      const isDistributed = await hasDistributedTables(client, schema)
      if (isDistributed) await publishOthers(client, { signal })
      locked = { client, isDistributed }
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
    return locked
  }

  async function tryLock(client: Client): Promise<true | null> {
    const [row] = await queryRows(client, TRY_WRITER_LOCK, [writerLockName(address)])
    return (row![0] as unknown) === true || null
  }

  async function refuseReadOnly(client: Client): Promise<void> {
    const [right] = await queryRows(client, MAY_WRITE)
    if ((right![0] as unknown) !== false) return
    throw new StoreRefusedError(
      `${name}: this user may only read; grant it insert, update and delete on the tables, or use another user`,
    )
  }

  /** Runs work, and runs it again after temporary faults. The signal ends the waiting. */
  async function withRetries<T>(work: (locked: Locked) => Promise<T>): Promise<T> {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(2 * wait, LONGEST_RETRY_MS)) {
      try {
        return await work(await lock())
      } catch (error) {
        const explanation = explainPostgresError(name, error)
        if (!isPassing(error)) {
          // Closing the connection ends the transaction, which is open after an error.
          await close()
          throw explanation
        }
        if (isConnectionLost(error) || locked === null) await close()
        else {
          forget()
          await locked.client.query('rollback').catch(() => close())
        }
        onNotice(`${explanation.message}; trying again`)
        await sleep(wait, undefined, { signal })
      }
    }
  }

  async function tryCommit(
    { client, isDistributed }: Locked,
    batch: Batch,
    coverage: Coverage,
  ): Promise<GainedRows> {
    const gained: GainedRows = new Map()
    const before = lastCoverage
    const begun = Promise.all([client.query('begin'), runPostgresQuery(client, readCoverage())])
    begun.catch(() => {})
    const sent: Promise<unknown>[] = [begun]
    await runPostgresMutation(client, writeBatch(batch, markets, builder), isDistributed, gained, sent)
    const [, stored] = await begun
    // After a lost connection it is unknown whether the commit has succeeded. Writing the same again is harmless.
    if (before !== undefined && stored?.height !== before?.height && stored?.height !== coverage.height) {
      await client.query('rollback')
      throw new StoreError(
        `${name}: another writer took over, up to block ${stored?.height ?? 'none'}; start again to resume from there`,
      )
    }
    const publication = publicationOf(batch, before ?? null, coverage)
    if (isDistributed) {
      await Promise.all(sent)
      await keepUnpublished(client, publication)
      await commitEverywhere(client, { signal, onNotice })
      await publishWaiting(client)
    } else {
      await Promise.all([...sent, publish(client, publication, true)])
    }
    return gained
  }

  await withPostgresErrors(name, () => withFreshConnections(lock))
  return { coverage, commit, buildSeries: (which, stop) => builder.build(which, run, stop), close }
}
