import { RowTooLongError } from '../errors.ts'
import { MAX_PAGE_BYTES } from '../pages/edges.ts'
import type { Page, PageQuery } from '../pages/page.ts'
import { readFreshness } from '../queries/freshness.ts'
import { refuseOlderVersion } from '../schema-version.ts'
import type { Reader, ReaderOptions } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { readDeniedTable } from './admin/grants.ts'
import { schemaVersion } from './admin/migrate.ts'
import { hasDistributedTables, readClusterFaults } from './cluster/cluster.ts'
import { onConnection } from './connection/connection.ts'
import { loadedDriver } from './connection/driver.ts'
import type { Queryable } from './connection/query-rows.ts'
import { ReadConnections } from './connection/read-connections.ts'
import { readerConfig, writerConfig } from './connection/session.ts'
import { withPostgresErrors } from './errors.ts'
import { EXPORTED_PAGE, PageReader, readsSpanFirst, WHOLE_PAGE } from './pages/read-page.ts'
import { runPostgresQuery } from './run-sql.ts'
import { POSTGRES_SCHEMA } from './schema.ts'
import { openPostgresSnapshot } from './snapshot.ts'

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
  const pages = new PageReader(isDistributed)
  const servedPages = new ServedPages(address, connections, pages)
  return {
    page: (query) => servedPages.read(query),
    read: (query) => connections.snapshot((client) => runPostgresQuery(client, query())),
    freshness: (since) => connections.shared((client) => runPostgresQuery(client, readFreshness(since))),
    openSnapshot: () =>
      openPostgresSnapshot(address, config, (client, query) => pages.read(client, query, EXPORTED_PAGE)),
    ...(isDistributed && {
      clusterFaults: () => connections.exclusive((client) => readClusterFaults(client, address.schema)),
    }),
    checkSchema: () => connections.shared(checkSchema),
    deniedTable: () => connections.shared((client) => readDeniedTable(client, address.schema)),
    close: () => connections.close(),
  }
}

/** Reads the pages that clients request. One whose whole answer would be too long for the driver is cut short. */
class ServedPages {
  readonly #address: PostgresAddress
  readonly #connections: ReadConnections
  readonly #pages: PageReader

  constructor(address: PostgresAddress, connections: ReadConnections, pages: PageReader) {
    this.#address = address
    this.#connections = connections
    this.#pages = pages
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
    const read = (client: Queryable) => this.#pages.read(client, query, WHOLE_PAGE)
    if (readsSpanFirst(query)) return this.#connections.snapshot(read)
    const sharesConnection = query.limit <= MAX_SHARING_ROWS
    return sharesConnection ? this.#connections.shared(read) : this.#connections.exclusive(read)
  }

  /** The first rows of a page whose whole answer would be too long: 1, 2, 4 and so on, as long as they fit. */
  async #readShort(query: PageQuery): Promise<Page> {
    let page: Page | null = null
    try {
      for (let rows = 1; rows <= query.limit; rows *= 2) {
        const limits = { rows, maxBytes: MAX_PAGE_BYTES }
        page = await this.#connections.snapshot((client) => this.#pages.read(client, query, limits))
      }
    } catch (error) {
      if (!isAnswerTooLong(error)) throw error
      if (page === null) throw new RowTooLongError(this.#address.name, { cause: error })
    }
    return { ...page!, more: true }
  }
}

function isAnswerTooLong(error: unknown): boolean {
  return error instanceof loadedDriver().AnswerTooLongError
}
