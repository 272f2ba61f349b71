import { asUnavailable } from '../errors.ts'
import type { Page, PageQuery } from '../pages/page.ts'
import { readStoreHead } from '../queries/coverage.ts'
import type { Snapshot } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { connect } from './connection/connection.ts'
import type { Queryable } from './connection/query-rows.ts'
import { BEGIN_SNAPSHOT, type SessionConfig } from './connection/session.ts'
import { explainPostgresError } from './errors.ts'
import { runPostgresQuery } from './run-sql.ts'

/**
 * Opens a repeatable-read transaction on a separate connection, until the snapshot is closed.
 *
 * @param readPage reads a page within the transaction
 */
export async function openPostgresSnapshot(
  address: PostgresAddress,
  config: SessionConfig,
  readPage: (client: Queryable, query: PageQuery) => Promise<Page>,
): Promise<Snapshot> {
  /** The error that ended the transaction. Later errors only say that it has ended. */
  let first: unknown = null

  async function reading<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      first ??= error
      throw asUnavailable(explainPostgresError(address.name, first))
    }
  }

  const client = await reading(() => connect(config))
  const close = async () => {
    await client.end().catch(() => {})
  }
  try {
    const storeHead = await reading(async () => {
      await client.query(BEGIN_SNAPSHOT)
      return runPostgresQuery(client, readStoreHead())
    })
    return {
      storeHead,
      page: (query) => reading(() => readPage(client, query)),
      read: (several) => reading(() => runPostgresQuery(client, several)),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
