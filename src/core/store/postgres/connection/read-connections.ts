import type { Client } from 'pg'
import { countedNotice } from '../../../domain/counted-notice.ts'
import { asUnavailable } from '../../errors.ts'
import type { PostgresAddress } from '../address.ts'
import { explainPostgresError, isConnectionCut, isConnectionLost } from '../errors.ts'
import { connect } from './connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import { BEGIN_SNAPSHOT, type SessionConfig } from './session.ts'

/** Maximum connections of one process. More would only wait for the same processors. */
const MAX_CONNECTIONS = 10

/**
 * Number of connections that pages share. A statement that follows another one on its connection finds the server's process
 * awake.
 */
const SHARED_CONNECTIONS = 4

/** For how long cut connections are skipped. */
const MAX_RETRYING_MS = 1_000

/**
 * The connections of a reader. A read whose connection is lost runs again on another one, and finally on a new one. Each
 * method throws a `StoreUnavailableError` (store/errors.ts) if that does not help.
 */
export class ReadConnections {
  readonly #address: PostgresAddress
  readonly #pool: ConnectionPool

  constructor(address: PostgresAddress, config: SessionConfig, onNotice: (message: string) => void) {
    const notice = countedNotice(onNotice)
    this.#address = address
    this.#pool = new ConnectionPool({
      connect: () => connect(config),
      most: MAX_CONNECTIONS,
      mostShared: SHARED_CONNECTIONS,
      onLimit: () =>
        notice(
          `${address.name}: the server has too many connections; continuing with those already open. Raise max_connections`,
        ),
    })
  }

  /** Runs a cheap read on a shared connection: each of its statements is a snapshot of its own. */
  shared<T>(read: (client: Client) => Promise<T>): Promise<T> {
    return this.#withRetries(() => this.#pool.shared(read))
  }

  /** Runs a read on a connection that nobody else uses meanwhile. */
  exclusive<T>(read: (client: Client) => Promise<T>): Promise<T> {
    return this.#withRetries(() => this.#pool.exclusive(read))
  }

  /** Runs a read in a transaction that sees one snapshot. */
  snapshot<T>(read: (client: Client) => Promise<T>): Promise<T> {
    return this.exclusive(async (client) => {
      const began = client.query(BEGIN_SNAPSHOT)
      const [, result] = await Promise.all([began, read(client)])
      await client.query('commit')
      return result
    })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #withRetries<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        const isQuick = performance.now() - startedAt < MAX_RETRYING_MS
        if (attempt > retriesAfter(error, isQuick)) {
          throw asUnavailable(explainPostgresError(this.#address.name, error))
        }
      }
    }
  }
}

/**
 * How many attempts may follow an error. All open connections may have been cut together. A server that hangs is not waited for
 * repeatedly.
 */
function retriesAfter(error: unknown, isQuick: boolean): number {
  if (isConnectionCut(error) && isQuick) return MAX_CONNECTIONS
  return isConnectionLost(error) ? 1 : 0
}
