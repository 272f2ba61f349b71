import { LRUCache } from 'lru-cache'
import type { Client } from 'pg'
import { countedNotice } from '../../domain/counted-notice.ts'
import { asUnavailable, RowTooLongError } from '../errors.ts'
import { MAX_PAGE_BYTES } from '../pages/edges.ts'
import type { Page, PageQuery } from '../pages/page.ts'
import { readFreshness } from '../queries/freshness.ts'
import { refuseOlderVersion } from '../schema-version.ts'
import type { Reader, ReaderOptions } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { hasDistributedTables, readClusterFaults } from './cluster.ts'
import {
  connect,
  onConnection,
  openedDriver,
  type Queryable,
  readerConfig,
  type SessionConfig,
  writerConfig,
} from './connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import { explainPostgresError, isConnectionCut, isConnectionLost, withPostgresErrors } from './errors.ts'
import { readDeniedTable } from './grants.ts'
import { schemaVersion } from './migrate.ts'
import {
  EXPORTED_PAGE,
  isInSteps,
  MAX_MARKETS_KNOWN,
  type Markets,
  readPage,
  WHOLE_PAGE,
} from './read-page.ts'
import { runPostgresQuery } from './run-sql.ts'
import { POSTGRES_SCHEMA } from './schema.ts'
import { BEGIN_SNAPSHOT, openPostgresSnapshot } from './snapshot.ts'

/** Maximum connections of one process. More would only wait for the same processors. */
const MAX_CONNECTIONS = 10

/**
 * Number of connections that pages share. A statement that follows another one on its connection finds the server's process
 * awake.
 */
const SHARED_CONNECTIONS = 4

/** For how long cut connections are skipped. */
const MAX_RETRYING_MS = 1_000

/** Pages with more rows do not share a connection, because they would delay the pages after them. */
const MAX_SHARING_ROWS = 1_000

/**
 * Opens a reader on separate connections.
 *
 * @throws {StoreError} if the server cannot be reached, or the schema is not of this program's version.
 */
export async function openPostgresReader(
  address: PostgresAddress,
  { onNotice = () => {} }: ReaderOptions = {},
): Promise<Reader> {
  const checkSchema = async (client: Queryable) =>
    refuseOlderVersion(POSTGRES_SCHEMA, await schemaVersion(client, address), address.name)

  const isDistributed = await withPostgresErrors(address.name, () =>
    onConnection(writerConfig(address), async (client) => {
      await checkSchema(client)
      return hasDistributedTables(client, address.schema)
    }),
  )
  const config = readerConfig(address, isDistributed)
  const connections = new ReadConnections(address, config, onNotice)
  const markets: Markets = { numbers: new LRUCache({ max: MAX_MARKETS_KNOWN }), isDistributed }
  const pages = new PageReads(address, connections, markets)
  return {
    page: (query) => pages.read(query),
    read: (query) => connections.snapshot((client) => runPostgresQuery(client, query())),
    freshness: (since) => connections.shared((client) => runPostgresQuery(client, readFreshness(since))),
    openSnapshot: () =>
      openPostgresSnapshot(address, config, (client, query) =>
        readPage(client, query, markets, EXPORTED_PAGE),
      ),
    ...(isDistributed && {
      clusterFaults: () => connections.exclusive((client) => readClusterFaults(client, address.schema)),
    }),
    checkSchema: () => connections.shared(checkSchema),
    deniedTable: () => connections.shared((client) => readDeniedTable(client, address.schema)),
    close: () => connections.close(),
  }
}

/**
 * The connections of a reader. A read whose connection is lost runs again on another one, and finally on a new one. Each
 * method throws a `StoreUnavailableError` (../errors.ts) if that does not help.
 */
class ReadConnections {
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
        // All open connections may have been cut together. A server that hangs is not waited for repeatedly.
        const isQuick = performance.now() - startedAt < MAX_RETRYING_MS
        const most = isConnectionCut(error) && isQuick ? MAX_CONNECTIONS : isConnectionLost(error) ? 1 : 0
        if (attempt > most) throw asUnavailable(explainPostgresError(this.#address.name, error))
      }
    }
  }
}

/** Reads pages. One whose whole answer would be too long for the driver is cut short. */
class PageReads {
  readonly #address: PostgresAddress
  readonly #connections: ReadConnections
  readonly #markets: Markets

  constructor(address: PostgresAddress, connections: ReadConnections, markets: Markets) {
    this.#address = address
    this.#connections = connections
    this.#markets = markets
  }

  async read(query: PageQuery): Promise<Page> {
    try {
      return await this.#readWhole(query)
    } catch (error) {
      if (!isAnswerTooLong(error)) throw error
      return this.#readShort(query)
    }
  }

  #readWhole(query: PageQuery): Promise<Page> {
    const read = (client: Queryable) => readPage(client, query, this.#markets, WHOLE_PAGE)
    if (isInSteps(query)) return this.#connections.snapshot(read)
    const sharesConnection = query.limit <= MAX_SHARING_ROWS
    return sharesConnection ? this.#connections.shared(read) : this.#connections.exclusive(read)
  }

  /** The first rows of a page whose whole answer would be too long. */
  async #readShort(query: PageQuery): Promise<Page> {
    let page: Page | null = null
    try {
      for (let rows = 1; rows <= query.limit; rows *= 2) {
        const limits = { rows, maxBytes: MAX_PAGE_BYTES }
        page = await this.#connections.snapshot((client) => readPage(client, query, this.#markets, limits))
      }
    } catch (error) {
      if (!isAnswerTooLong(error)) throw error
      if (page === null) throw new RowTooLongError(this.#address.name, { cause: error })
    }
    return { ...page!, more: true }
  }
}

function isAnswerTooLong(error: unknown): boolean {
  return error instanceof openedDriver().AnswerTooLongError
}
