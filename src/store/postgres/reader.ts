import { Pool, type PoolClient } from 'pg'
import type { Coverage, Gap } from '../../domain/coverage.ts'
import { holdingsOf } from '../holdings.ts'
import { existsStatement, pageStatement, type Statement, spanStatement } from '../page-statement.ts'
import { pageScans, type Span, selectsNothing } from '../scan.ts'
import {
  READ_CHECKPOINT_HOLDINGS,
  READ_GAPS,
  READ_POINT_HOLDINGS,
  READ_POSITION,
  READ_PROVIDER_HOLDINGS,
  READ_PRUNED,
  READ_STREAM,
} from '../statements.ts'

import {
  type Holdings,
  type Page,
  type PageQuery,
  type Position,
  type Reader,
  StoreError,
  StoreUnavailableError,
} from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { type Queryable, readerConfig, rowsOf } from './connection.ts'
import { explainPostgresError, isConnectionLost } from './errors.ts'
import { schemaVersion } from './migrate.ts'
import { MIGRATIONS } from './schema.ts'

/** Connections of one process at most; more would only wait for the same processors. */
const MAX_CONNECTIONS = 10

const BEGIN_SNAPSHOT = 'begin transaction isolation level repeatable read, read only'

/**
 * Opens a reader on connections of its own.
 *
 * @throws {StoreError} where the server cannot be reached, or the schema is not of this program's version.
 */
export async function openPostgresReader(address: PostgresAddress): Promise<Reader> {
  const pool = new Pool({ ...readerConfig(address), max: MAX_CONNECTIONS })
  // A connection lost while it is idle is replaced when the next one is needed; one lost while it is in use
  // tells its error with its statements', and to a listener, which the pool has only while it is idle.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    client.on('error', () => {})
  })
  try {
    const version = await schemaVersion(pool, address)
    if (version < MIGRATIONS.length) {
      throw new StoreError(`${address.name}: its schema is not up to date; run lyra migrate`)
    }
  } catch (error) {
    await pool.end()
    throw explainPostgresError(address.name, error)
  }

  /** Asks on one connection; once more on a new one where that one proves lost. */
  async function ask<T>(read: (client: PoolClient) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      let client: PoolClient | null = null
      try {
        client = await pool.connect()
        const result = await read(client)
        client.release()
        return result
      } catch (error) {
        client?.release(true)
        if (client !== null && attempt === 1 && isConnectionLost(error)) continue
        const explained = explainPostgresError(address.name, error)
        if (explained instanceof StoreError)
          throw new StoreUnavailableError(explained.message, { cause: error })
        throw explained
      }
    }
  }

  return {
    page: (query) => ask((client) => readPage(client, query)),
    position: () => ask(readPosition),
    coverage: () => ask((client) => snapshot(client, () => readCoverage(client))),
    holdings: () => ask((client) => snapshot(client, () => readHoldings(client))),
    close: () => pool.end(),
  }
}

async function readPage(client: Queryable, query: PageQuery): Promise<Page> {
  const none = { rows: [], more: false, behind: false }
  if (selectsNothing(query.selection)) return { ...none, position: await readPosition(client) }
  const spanOf = spanStatement(query.resource, query.selection)
  return snapshot(client, async () => {
    let span: Span | null = null
    if (spanOf !== null) {
      const [found] = await rows(client, spanOf)
      if (found === undefined) return { ...none, position: await readPosition(client) }
      span = { first: BigInt(found[0] as string), last: BigInt(found[1] as string) }
    }
    const scans = pageScans(query, span)
    // Sent at once, answered one after another.
    const [found, behind, position] = await Promise.all([
      rows(client, pageStatement(scans.page, query.limit + 1, 'bounded')),
      scans.behind === null ? [] : rows(client, existsStatement(scans.behind)),
      readPosition(client),
    ])
    const more = found.length > query.limit
    if (more) found.pop()
    return { rows: found, more, behind: (behind[0]?.[0] as unknown) === true, position }
  })
}

/** Runs `read` in one snapshot. */
async function snapshot<T>(client: Queryable, read: () => Promise<T>): Promise<T> {
  const began = client.query(BEGIN_SNAPSHOT)
  const [, result] = await Promise.all([began, read()])
  await client.query('commit')
  return result
}

const rows = (client: Queryable, statement: Statement) => rowsOf(client, statement.text, statement.values)

async function readHoldings(client: Queryable): Promise<Holdings | null> {
  const [coverage, ...found] = await Promise.all([
    readCoverage(client),
    rowsOf(client, READ_CHECKPOINT_HOLDINGS),
    rowsOf(client, READ_POINT_HOLDINGS),
    rowsOf(client, READ_PROVIDER_HOLDINGS),
    rowsOf(client, READ_PRUNED),
  ])
  return coverage === null ? null : holdingsOf(coverage, ...found)
}

async function readPosition(client: Queryable): Promise<Position | null> {
  const [row] = await rowsOf(client, READ_POSITION)
  return row === undefined ? null : { height: row[0] as string, timestamp: row[1] as string }
}

/** What the store holds, within the caller's transaction. */
export async function readCoverage(client: Queryable): Promise<Coverage | null> {
  const [stream, gaps] = await Promise.all([rowsOf(client, READ_STREAM), rowsOf(client, READ_GAPS)])
  const [row] = stream as string[][]
  if (row === undefined) return null
  const [chainId, first, height, timestamp] = row
  return {
    chainId: chainId!,
    first: BigInt(first!),
    height: BigInt(height!),
    timestamp: BigInt(timestamp!),
    gaps: gaps.map(
      ([from, to, kind]): Gap => ({ from: BigInt(from!), to: BigInt(to!), kind: kind as Gap['kind'] }),
    ),
  }
}
