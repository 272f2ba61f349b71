import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Coverage } from '../../domain/coverage.ts'
import type { Batch } from '../../resources/batch.ts'
import { readCoverage } from '../readings/coverage.ts'
import { StoreError, StoreRefusedError, type Writer, type WriterOptions } from '../store.ts'
import type { MarketNumbers } from '../writing/market-numbers.ts'
import { writeSteps } from '../writing/write-batch.ts'
import type { PostgresAddress } from './address.ts'
import { commitEverywhere, isSpread, settle } from './cluster.ts'
import { connect, rowsOf, writerConfig } from './connection.ts'
import { explainPostgresError, isConnectionLost, isPassing, withFreshConnections } from './errors.ts'
import { keepUnpublished, publicationOf, publish, publishKept, unpublishedSession } from './publication.ts'
import { runReading, runSteps } from './run-steps.ts'

/** How often a standby looks whether the writer before it is gone. */
const STANDBY_INTERVAL_MS = 500

/** The first and the longest wait before work is tried again. */
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5_000

const TRY_LOCK = 'select pg_try_advisory_lock(hashtextextended($1, 0))'

const MAY_WRITE = `
  select has_table_privilege('stream', 'insert') and has_table_privilege('stream', 'update')
    and has_table_privilege('stream', 'delete')`

/** What the writer's advisory lock is made from. */
export function writerLockName({ schema }: PostgresAddress): string {
  return `lyra writer ${schema}`
}

/**
 * Opens a writer. There is one at a time for each schema, by advisory lock: another one waits here, as a
 * standby, until the first is gone. A lost connection, a restart or a failover of the server is waited out.
 */
export async function openPostgresWriter(
  address: PostgresAddress,
  { signal, onNotice = () => {}, onStandby = () => {} }: WriterOptions,
): Promise<Writer> {
  const markets: MarketNumbers = new Map()
  let client: Client | null = null
  let known: Coverage | null | undefined
  /** Whether the tables are spread over a cluster; as of the connection. */
  let spread = false

  /** The connection that holds the writer's lock. */
  async function lockedClient(): Promise<Client> {
    if (client !== null) return client
    const opened = await connect(writerConfig(address))
    try {
      for (let attempt = 0; ; attempt++) {
        const [row] = await rowsOf(opened, TRY_LOCK, [writerLockName(address)])
        if ((row![0] as unknown) === true) {
          if (attempt > 0) onStandby(false)
          break
        }
        if (attempt === 0) {
          onNotice(`${address.name}: another writer is at work; standing by`)
          onStandby(true)
        }
        await sleep(STANDBY_INTERVAL_MS, undefined, { signal })
      }
      const [right] = await rowsOf(opened, MAY_WRITE)
      if ((right![0] as unknown) === false) {
        throw new StoreRefusedError(
          `${address.name}: this user may only read; grant it insert, update and delete on the tables, or name another user`,
        )
      }
      spread = await isSpread(opened, address.schema)
      if (spread) {
        // The writer before may have gone in between, or this one's connection.
        const session = await unpublishedSession(opened)
        if (session !== null) await settle(opened, session, { signal })
        await finish(opened)
      }
    } catch (error) {
      await opened.end().catch(() => {})
      throw error
    }
    client = opened
    return opened
  }

  /** Publishes rows that are committed and seen everywhere; nothing where there are none. */
  async function finish(locked: Client): Promise<void> {
    await locked.query('begin')
    await publishKept(locked)
    await locked.query('commit')
  }

  async function dropConnection(): Promise<void> {
    const lost = client
    client = null
    markets.clear()
    await lost?.end().catch(() => {})
  }

  /** Does work, again and again after faults that pass; `signal` ends the waiting. */
  async function persist<T>(work: (client: Client) => Promise<T>): Promise<T> {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      try {
        return await work(await lockedClient())
      } catch (error) {
        if (!isPassing(error)) {
          // With the connection goes the transaction that the error has left open.
          await dropConnection()
          throw explainPostgresError(address.name, error)
        }
        if (isConnectionLost(error) || client === null) await dropConnection()
        else await client.query('rollback').catch(dropConnection)
        onNotice(`${explainPostgresError(address.name, error).message}; trying again`)
        await sleep(wait, undefined, { signal })
      }
    }
  }

  async function commit(batch: Batch, coverage: Coverage): Promise<void> {
    await persist(async (locked) => {
      const begun = Promise.all([locked.query('begin'), runReading(locked, readCoverage())])
      begun.catch(() => {})
      const sent: Promise<unknown>[] = [begun]
      const steps = writeSteps(batch, { before: known ?? null, after: coverage }, markets)
      await runSteps(locked, steps, spread, sent)
      const [, stored] = await begun
      // After a lost connection it is unknown whether the commit succeeded: writing the same again is harmless.
      if (known !== undefined && stored?.height !== known?.height && stored?.height !== coverage.height) {
        await locked.query('rollback')
        throw new StoreError(
          `${address.name}: another writer took over, up to block ${stored?.height ?? 'none'}; start again to resume from there`,
        )
      }
      const publication = publicationOf(batch, known ?? null, coverage)
      if (spread) {
        await Promise.all(sent)
        await keepUnpublished(locked, publication)
        await commitEverywhere(locked, { signal, onNotice })
        await finish(locked)
      } else {
        await Promise.all([...sent, publish(locked, publication, true)])
      }
    })
    known = coverage
  }

  try {
    await withFreshConnections(lockedClient)
  } catch (error) {
    throw explainPostgresError(address.name, error)
  }
  return {
    coverage: async () => {
      known = await persist((client) => runReading(client, readCoverage()))
      return known
    },
    commit,
    close: dropConnection,
  }
}
