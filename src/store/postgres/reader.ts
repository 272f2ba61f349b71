import { Pool, type PoolClient } from 'pg'
import type { Coverage } from '../../domain/coverage.ts'
import { type ArrivalQuery, type Arrivals, placeOf, placeStatement, readArrivals } from '../arrivals.ts'
import { READ_CHANGES, READ_STATE, type StoreVersion } from '../changes.ts'
import { coverageOf, positionOf } from '../coverage-rows.ts'
import { cutEdges, cutRows } from '../edges.ts'
import { freshnessOf, stateOf } from '../freshness.ts'
import { gapSummaryOf, holdingsOf, holdingsStatements } from '../holdings.ts'
import {
  edgesStatement,
  existsStatement,
  pageStatement,
  type Scan,
  type Statement,
  spanStatement,
} from '../page-statement.ts'
import { pageScans, type Span, selectsNothing } from '../scan.ts'
import {
  COUNT_CURRENT_GAPS,
  READ_CHECKPOINT_HOLDINGS,
  READ_CURRENT_GAPS,
  READ_GAPS,
  READ_POSITION,
  READ_PRUNED,
  READ_STREAM,
} from '../statements.ts'

import {
  asUnavailable,
  type Freshness,
  type GapSummary,
  type Holdings,
  type HoldingsQuery,
  type Page,
  type PageQuery,
  type Position,
  type Reader,
  StoreError,
} from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { type Queryable, readerConfig, rowsOf } from './connection.ts'
import { POSTGRES_DIALECT } from './dialect.ts'
import { explainPostgresError, isConnectionLost } from './errors.ts'
import { schemaVersion } from './migrate.ts'
import { MIGRATIONS } from './schema.ts'
import { BEGIN_SNAPSHOT, openPostgresSnapshot } from './snapshot.ts'

/** Connections of one process at most; more would only wait for the same processors. */
const MAX_CONNECTIONS = 10

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
        throw asUnavailable(explainPostgresError(address.name, error))
      }
    }
  }

  return {
    page: (query) => ask((client) => readPage(client, query)),
    position: () => ask(readPosition),
    freshness: (since) => ask((client) => readFreshness(client, since)),
    arrivals: (query) => ask((client) => snapshot(client, () => arrivalsOf(client, query))),
    placeOf: (resource, selection, key) =>
      ask(async (client) => placeOf((await rows(client, placeStatement(resource, selection, key)))[0])),
    openSnapshot: () => openPostgresSnapshot(address, { page: readPageWithin, position: readPosition }),
    coverage: () => ask((client) => snapshot(client, () => readCoverage(client))),
    gaps: (most) => ask((client) => snapshot(client, () => readGaps(client, most))),
    holdings: (query) => ask((client) => snapshot(client, () => readHoldings(client, query))),
    close: () => pool.end(),
  }
}

const NOTHING = { rows: [], edges: null, more: false, behind: false }

async function readPage(client: Queryable, query: PageQuery): Promise<Page> {
  if (selectsNothing(query.selection)) return { ...NOTHING, ...(await readState(client)) }
  return snapshot(client, () => readPageWithin(client, query))
}

/** A page, within the caller's transaction. */
async function readPageWithin(client: Queryable, query: PageQuery): Promise<Page> {
  if (selectsNothing(query.selection)) return { ...NOTHING, ...(await readState(client)) }
  const spanOf = spanStatement(query.resource, query.selection)
  let span: Span | null = null
  if (spanOf !== null) {
    const [found] = await rows(client, spanOf)
    if (found === undefined) return { ...NOTHING, ...(await readState(client)) }
    span = { first: BigInt(found[0] as string), last: BigInt(found[1] as string) }
  }
  const scans = pageScans(query, span)
  // Sent at once, answered one after another.
  const [found, behind, state] = await Promise.all([
    readEdges(client, query, scans.page) ?? readRows(client, query, scans.page),
    scans.behind === null ? [] : rows(client, existsStatement(scans.behind)),
    readState(client),
  ])
  return { ...found, behind: (behind[0]?.[0] as unknown) === true, ...state }
}

type Found = Pick<Page, 'rows' | 'edges' | 'more'>

function readEdges(client: Queryable, { limit, edges: order }: PageQuery, scan: Scan): Promise<Found> | null {
  if (order === undefined) return null
  const reversed = order === 'reversed'
  const statement = edgesStatement(scan, limit + 1, reversed, POSTGRES_DIALECT)
  if (statement === null) return null
  return rows(client, statement).then(([found]) => {
    const [text, count] = found as [string | null, string]
    return { rows: [], ...cutEdges(Buffer.from(text ?? ''), Number(count), limit, reversed) }
  })
}

async function readRows(client: Queryable, { limit }: PageQuery, scan: Scan): Promise<Found> {
  const found = await rows(client, pageStatement(scan, limit + 1, POSTGRES_DIALECT))
  return { ...cutRows(found, limit), edges: null }
}

/** Runs `read` in one snapshot. */
async function snapshot<T>(client: Queryable, read: () => Promise<T>): Promise<T> {
  const began = client.query(BEGIN_SNAPSHOT)
  const [, result] = await Promise.all([began, read()])
  await client.query('commit')
  return result
}

const rows = (client: Queryable, statement: Statement) => rowsOf(client, statement.text, statement.values)

async function arrivalsOf(client: Queryable, query: ArrivalQuery): Promise<Arrivals | null> {
  const coverage = query.asOf ?? (await readCoverage(client))
  if (coverage === null || (await holdsLess(client, coverage))) return null
  const reading = readArrivals(query, coverage)
  let step = reading.next()
  while (!step.done) step = reading.next(await rows(client, step.value))
  return step.value
}

/** Whether the snapshot holds less than what is taken to be held: that of a replica that lags. */
async function holdsLess(client: Queryable, { height }: Coverage): Promise<boolean> {
  const position = await readPosition(client)
  return position === null || BigInt(position.height) < height
}

async function readGaps(client: Queryable, most: number): Promise<GapSummary | null> {
  const [[stream], [count], first] = await Promise.all([
    rowsOf(client, READ_STREAM),
    rowsOf(client, COUNT_CURRENT_GAPS),
    rowsOf(client, READ_CURRENT_GAPS, [BigInt(most)]),
  ])
  return gapSummaryOf(stream ?? null, count!, first)
}

async function readHoldings(client: Queryable, query: HoldingsQuery): Promise<Holdings | null> {
  const statements = holdingsStatements(query)
  const [stream, gaps, checkpoints, points, providers, pruned] = await Promise.all([
    rowsOf(client, READ_STREAM),
    rows(client, statements.gaps),
    rowsOf(client, READ_CHECKPOINT_HOLDINGS),
    rows(client, statements.points),
    rows(client, statements.providers),
    rowsOf(client, READ_PRUNED),
  ])
  return holdingsOf(query, { stream: stream[0] ?? null, gaps, checkpoints, points, providers, pruned })
}

async function readState(client: Queryable): Promise<ReturnType<typeof stateOf>> {
  const [row] = await rowsOf(client, READ_STATE)
  return stateOf(row!)
}

/** Each of the statements is a snapshot by itself. */
async function readFreshness(client: Queryable, since: StoreVersion | null): Promise<Freshness> {
  if (since !== null) {
    const found = freshnessOf(await rowsOf(client, READ_CHANGES, [since.version]), since)
    if (found !== null) return found
  }
  return { ...(await readState(client)), changed: null }
}

async function readPosition(client: Queryable): Promise<Position | null> {
  const [row] = await rowsOf(client, READ_POSITION)
  return positionOf(row ?? null)
}

/** What the store holds, within the caller's transaction. */
export async function readCoverage(client: Queryable): Promise<Coverage | null> {
  const [[stream], gaps] = await Promise.all([rowsOf(client, READ_STREAM), rowsOf(client, READ_GAPS)])
  return coverageOf(stream ?? null, gaps)
}
