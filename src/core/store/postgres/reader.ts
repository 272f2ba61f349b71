import { LRUCache } from 'lru-cache'
import type { Client } from 'pg'
import { countedNotice } from '../../domain/counted-notice.ts'
import { fixingFilter } from '../../model/filters.ts'
import { type Row, type RowColumn, scopeOf } from '../../model/resource.ts'
import { READ_STATE } from '../changes.ts'
import { cutRows, MAX_PAGE_BYTES } from '../pages/edges.ts'
import { filtersBySpan, locateRows } from '../pages/locate.ts'
import { EMPTY_PAGE, type Page, type PageQuery } from '../pages/page.ts'
import { pageScans, selectsNothing } from '../pages/scan.ts'
import type { Statement } from '../pages/statement.ts'
import { readFreshness, type StoreState, stateOf } from '../queries/freshness.ts'
import { refuseOlderVersion } from '../schema-version.ts'
import { asUnavailable, type Reader, type ReaderOptions, RowTooLongError } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { isSpread, readClusterFaults } from './cluster.ts'
import {
  connect,
  onConnection,
  openedDriver,
  type Queryable,
  queryRows,
  readerConfig,
  writerConfig,
} from './connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import { explainPostgresError, isConnectionCut, isConnectionLost, withPostgresErrors } from './errors.ts'
import { readDeniedTable } from './grants.ts'
import { schemaVersion } from './migrate.ts'
import { columnsStatement, isReadAsColumns, openColumns, rowsStatement } from './page-statements.ts'
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

  const spread = await withPostgresErrors(address.name, () =>
    onConnection(writerConfig(address), async (client) => {
      await checkSchema(client)
      return isSpread(client, address.schema)
    }),
  )
  const config = readerConfig(address, spread)
  const notice = countedNotice(onNotice)
  const connections = new ConnectionPool({
    connect: () => connect(config),
    most: MAX_CONNECTIONS,
    mostShared: SHARED_CONNECTIONS,
    onLimit: () =>
      notice(
        `${address.name}: the server has too many connections; continuing with those already open. Raise max_connections`,
      ),
  })

  const markets: Markets = { numbers: new LRUCache({ max: MAX_MARKETS_KNOWN }), spread }

  /** Runs work on a connection. If the connection is lost it tries others, and finally a new one. */
  async function retried<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        // All open connections may have been cut together. A server that hangs is not waited for repeatedly.
        const isQuick = performance.now() - startedAt < MAX_RETRYING_MS
        const most = isConnectionCut(error) && isQuick ? MAX_CONNECTIONS : isConnectionLost(error) ? 1 : 0
        if (attempt > most) throw asUnavailable(explainPostgresError(address.name, error))
      }
    }
  }

  /** Runs a read on a connection that nobody else uses meanwhile. */
  function ask<T>(read: (client: Client) => Promise<T>): Promise<T> {
    return retried(() => connections.exclusive(read))
  }

  /** Runs a cheap read on a shared connection: each of its statements is a snapshot of its own. */
  function askShared<T>(read: (client: Client) => Promise<T>): Promise<T> {
    return retried(() => connections.shared(read))
  }

  function readFullPage(query: PageQuery): Promise<Page> {
    const read = (client: Queryable) => readPageWithin(client, query, markets, WHOLE_PAGE)
    if (isInSteps(query)) return ask((client) => snapshot(client, () => read(client)))
    return query.limit > MAX_SHARING_ROWS ? ask(read) : askShared(read)
  }

  /** The first rows of a page whose whole answer would be too long. */
  async function readShortPage(query: PageQuery): Promise<Page> {
    const readFirst = (rows: number) =>
      ask((client) =>
        snapshot(client, () => readPageWithin(client, query, markets, { rows, maxBytes: MAX_PAGE_BYTES })),
      )
    let page: Page | null = null
    try {
      for (let rows = 1; rows <= query.limit; rows *= 2) page = await readFirst(rows)
    } catch (error) {
      if (!isAnswerTooLong(error)) throw error
      if (page === null) throw new RowTooLongError(address.name, { cause: error })
    }
    return { ...page!, more: true }
  }

  return {
    page: async (query) => {
      try {
        return await readFullPage(query)
      } catch (error) {
        if (!isAnswerTooLong(error)) throw error
        return readShortPage(query)
      }
    },
    read: (query) => ask((client) => snapshot(client, () => runPostgresQuery(client, query()))),
    freshness: (since) => askShared((client) => runPostgresQuery(client, readFreshness(since))),
    openSnapshot: () =>
      openPostgresSnapshot(address, config, (client, query) =>
        readPageWithin(client, query, markets, EXPORTED_PAGE),
      ),
    ...(spread && { clusterFaults: () => ask((client) => readClusterFaults(client, address.schema)) }),
    checkSchema: () => askShared(checkSchema),
    deniedTable: () => askShared((client) => readDeniedTable(client, address.schema)),
    close: async () => {
      await connections.close()
    },
  }
}

type Markets = {
  /** By id. Numbers never change, but a schema may be created anew. */
  numbers: LRUCache<string, bigint>
  /** Whether the tables are distributed over a cluster, by market. */
  spread: boolean
}

const MAX_MARKETS_KNOWN = 10_000

/** Whether a page takes two statements in one snapshot, because a span is read before its rows. */
function isInSteps({ resource, selection }: PageQuery): boolean {
  return filtersBySpan(resource, selection).length > 0
}

/** The number of rows to read for a page (null for one more than its limit), and the maximum bytes of the answer. */
type PageLimits = { rows: number | null; maxBytes: number }

const WHOLE_PAGE: PageLimits = { rows: null, maxBytes: MAX_PAGE_BYTES }

/** The limits of an export's pages, which are not cut. */
const EXPORTED_PAGE: PageLimits = { rows: null, maxBytes: Number.POSITIVE_INFINITY }

/**
 * A page, within the caller's transaction if it has one.
 *
 * @throws {AnswerTooLongError}
 */
async function readPageWithin(
  client: Queryable,
  query: PageQuery,
  markets: Markets,
  limits: PageLimits,
): Promise<Page> {
  if (selectsNothing(query.resource, query.selection)) return emptyPage(client)
  const readAs = (form: PageForm) => readPageAs(form, client, query, markets, limits)
  const page = isReadAsColumns(query.resource, markets.spread) ? await readAs(AS_COLUMNS) : null
  return page ?? (await readAs(AS_ROWS))!
}

/** How a page is read: its statement, and the parser of the answer. */
type PageForm = {
  statementOf: typeof rowsStatement
  /** The rows are null if they cannot be read in this form. */
  parse(query: PageQuery, answer: Row[]): { rows: Row[] | null; facts: Row }
}

const AS_COLUMNS: PageForm = { statementOf: columnsStatement, parse: rowsInColumns }
const AS_ROWS: PageForm = { statementOf: rowsStatement, parse: rowsInRows }

/** Reads a page in one form; null if its rows cannot be read in this form. */
async function readPageAs(
  form: PageForm,
  client: Queryable,
  query: PageQuery,
  markets: Markets,
  { rows: limit, maxBytes }: PageLimits,
): Promise<Page | null> {
  const { resource, selection } = query
  const scope = resource.storage.scopeBy === 'number' ? scopeOf(resource, selection) : null
  for (;;) {
    const cachedNumber = scope === null ? undefined : markets.numbers.get(scope)
    const located = await runPostgresQuery(client, locateRows(resource, selection, cachedNumber))
    if (located === null) return emptyPage(client)
    const { market, span } = located
    if (market !== null) markets.numbers.set(scope!, market)
    const scans = pageScans(query, span, market)
    const statement = form.statementOf(scans, {
      limit: limit ?? query.limit + 1,
      withState: !markets.spread,
    })
    const [stateApart, answer] = await withStateApart(client, statement, markets.spread, maxBytes)
    const { rows, facts } = form.parse(query, answer)
    const [hasRowsAtOrBefore, marketId, ...state] = [...facts, ...stateApart]
    if (market !== null && marketId !== scope) {
      // The schema was created anew, and the cached number is that of another market now.
      markets.numbers.delete(scope!)
      continue
    }
    if (rows === null) return null
    return {
      ...cutRows(rows, query.limit),
      edges: null,
      hasRowsAtOrBefore: (hasRowsAtOrBefore as unknown) === true,
      ...stateOf(state),
    }
  }
}

async function emptyPage(client: Queryable): Promise<Page> {
  return { ...EMPTY_PAGE, ...(await readStoreState(client)) }
}

/** Parses the rows of a rowsStatement; one of them has the facts, after the columns of rows, and is removed. */
function rowsInRows({ resource }: PageQuery, answer: Row[]): { rows: Row[]; facts: Row } {
  const columns = resource.storage.columns.length
  // The first fact is never null.
  const factsAt = answer.findIndex((row) => row[columns] !== null)
  const [facts] = answer.splice(factsAt, 1)
  return { rows: answer, facts: facts!.slice(columns) }
}

/** Parses the row of a columnsStatement; the rows are null if a hash has several lines. */
function rowsInColumns(query: PageQuery, [row]: Row[]): { rows: Row[] | null; facts: Row } {
  const columns = openColumns(query)
  const [count, ...facts] = row!.slice(columns.length)
  return { rows: rowsOfColumns(query, columns, row as (string | null)[], Number(count)), facts }
}

/**
 * Runs a page's statement. On a cluster the store's state comes first, from the coordinator, and then the rows from the
 * market's machine: they may be newer than the state, but never older. Elsewhere the statement returns the state, and this
 * one is empty.
 */
async function withStateApart(
  client: Queryable,
  statement: Statement,
  spread: boolean,
  maxBytes: number,
): Promise<[state: Row, answer: Row[]]> {
  const [[state], answer] = await Promise.all([
    spread ? queryRows(client, READ_STATE) : [[]],
    queryRows(client, statement.text, statement.values, maxBytes),
  ])
  return [state!, answer]
}

/**
 * Rows from the texts of their open columns (see columnsText in page-statements.ts): a line for each row, empty for null.
 * Null if a hash has several lines.
 */
function rowsOfColumns(
  { resource, selection }: PageQuery,
  open: readonly RowColumn[],
  texts: readonly (string | null)[],
  count: number,
): Row[] | null {
  if (count === 0) return []
  const columns: (readonly (string | number | null)[])[] = []
  for (const column of resource.storage.columns) {
    const { name, type } = column
    const fixing = fixingFilter(resource, selection, name)
    const values =
      fixing === undefined
        ? valuesOf(texts[open.indexOf(column)]!, type)
        : Array(count).fill((type === 'small' ? Number : String)(selection[fixing.name]))
    if (values.length > count) return null
    columns.push(values)
  }
  const rows: Row[] = []
  for (let index = 0; index < count; index++) {
    const row = new Array<string | number | null>(columns.length)
    for (let column = 0; column < row.length; column++) row[column] = columns[column]![index]!
    rows.push(row)
  }
  return rows
}

function valuesOf(text: string, type: RowColumn['type']): (string | number | null)[] {
  const values = text.split('\n')
  if (type === 'small') return values.map(Number)
  if (type === 'hash' || !hasEmptyLine(text)) return values
  return values.map((value) => (value === '' ? null : value))
}

function hasEmptyLine(text: string): boolean {
  return text === '' || text.startsWith('\n') || text.endsWith('\n') || text.includes('\n\n')
}

/** Runs `read` in a transaction that sees one snapshot. */
async function snapshot<T>(client: Queryable, read: () => Promise<T>): Promise<T> {
  const began = client.query(BEGIN_SNAPSHOT)
  const [, result] = await Promise.all([began, read()])
  await client.query('commit')
  return result
}

function isAnswerTooLong(error: unknown): boolean {
  return error instanceof openedDriver().AnswerTooLongError
}

async function readStoreState(client: Queryable): Promise<StoreState> {
  const [row] = await queryRows(client, READ_STATE)
  return stateOf(row!)
}
