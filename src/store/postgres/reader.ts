import { LRUCache } from 'lru-cache'
import type { Client } from 'pg'
import { countedNotice } from '../../counted-notice.ts'
import { type Coverage, coverageOfResource } from '../../domain/coverage.ts'
import { type Resource, type Row, type RowColumn, type Selection, scopeOf } from '../../resources/resource.ts'
import { type ArrivalQuery, type Arrivals, placeOf, placeStatement, readArrivals } from '../arrivals.ts'
import { READ_STATE } from '../changes.ts'
import { coverageOf, positionOf } from '../coverage-rows.ts'
import { cutRows } from '../edges.ts'
import { readFreshness, stateOf } from '../freshness.ts'
import { gapSummaryOf, holdingsOf, holdingsStatements } from '../holdings.ts'
import type { Page, PageQuery, Position, Reading } from '../page.ts'
import {
  columnsStatement,
  fixedValue,
  isReadAsColumns,
  marketStatement,
  openColumns,
  rowsStatement,
  type Statement,
  spanStatement,
  valueLists,
} from '../page-statement.ts'
import { pageScans, type Span, selectsNothing } from '../scan.ts'
import {
  COUNT_CURRENT_GAPS,
  READ_CURRENT_GAPS,
  READ_GAPS,
  READ_IMPORTED,
  READ_POSITION,
  READ_PRUNED,
  READ_RESOURCE_GAPS,
  READ_STREAM,
} from '../statements.ts'
import {
  asUnavailable,
  type GapSummary,
  type Holdings,
  type HoldingsQuery,
  type Reader,
  type ReaderOptions,
} from '../store.ts'
import type { PostgresAddress } from './address.ts'
import { isSpread, readClusterFaults } from './cluster.ts'
import { connect, type Queryable, readerConfig, rowsOf, writerConfig } from './connection.ts'
import { explainPostgresError, isConnectionCut, isConnectionLost } from './errors.ts'
import { checkVersion, schemaVersion } from './migrate.ts'
import { createReaderConnections } from './reader-connections.ts'
import { BEGIN_SNAPSHOT, openPostgresSnapshot } from './snapshot.ts'

/** Connections of one process at most; more would only wait for the same processors. */
const MAX_CONNECTIONS = 10

/** Those of them that pages share: a statement that follows another one finds the server's process awake. */
const SHARED_CONNECTIONS = 4

/** For how long connections that are cut are passed over. */
const MAX_RETRYING_MS = 1_000

/** A page of more rows would keep those after it waiting. */
const MAX_SHARING_ROWS = 1_000

/**
 * Opens a reader on separate connections.
 *
 * @throws {StoreError} where the server cannot be reached, or the schema is not of this program's version.
 */
export async function openPostgresReader(
  address: PostgresAddress,
  { onNotice = () => {} }: ReaderOptions = {},
): Promise<Reader> {
  const spread = await openWith(address)
  const config = readerConfig(address, spread)
  const notice = countedNotice(onNotice)
  const connections = createReaderConnections({
    config,
    most: MAX_CONNECTIONS,
    mostShared: SHARED_CONNECTIONS,
    onLimit: () =>
      notice(
        `${address.name}: the server has too many connections; readers use those that they have. Raise max_connections`,
      ),
  })

  const markets: Markets = { numbers: new LRUCache({ max: MAX_MARKETS_KNOWN }), spread }

  /** Runs work on a connection; again on another one where that one proves lost, until it is a new one. */
  async function retried<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        // All that are open may have been cut together. A server that hangs is not waited for again and again.
        const isQuick = performance.now() - startedAt < MAX_RETRYING_MS
        const most = isConnectionCut(error) && isQuick ? MAX_CONNECTIONS : isConnectionLost(error) ? 1 : 0
        if (attempt > most) throw asUnavailable(explainPostgresError(address.name, error))
      }
    }
  }

  /** Asks on a connection of which nobody else makes use meanwhile. */
  function ask<T>(read: (client: Client) => Promise<T>): Promise<T> {
    return retried(() => connections.askAlone(read))
  }

  /** Asks what takes little: each statement is a snapshot by itself. */
  function askShared<T>(read: (client: Client) => Promise<T>): Promise<T> {
    return retried(() => connections.ask(read))
  }

  return {
    page: (query) => {
      if (isInSteps(query)) {
        return ask((client) => snapshot(client, () => readPageWithin(client, query, markets)))
      }
      const read = (client: Queryable) => readPageWithin(client, query, markets)
      return query.limit > MAX_SHARING_ROWS ? ask(read) : askShared(read)
    },
    position: () => askShared(readPosition),
    freshness: (since) => askShared((client) => runReading(client, readFreshness(since))),
    arrivals: (query) => ask((client) => snapshot(client, () => arrivalsOf(client, query))),
    placeOf: (resource, selection, key) =>
      ask(async (client) => {
        const market = await marketOf(client, resource, selection, markets)
        if (market === undefined) return null
        return placeOf((await rows(client, placeStatement(resource, selection, key, market)))[0])
      }),
    openSnapshot: () =>
      openPostgresSnapshot(address, config, {
        page: (client, query) => readPageWithin(client, query, markets),
        position: readPosition,
        run: runReading,
      }),
    coverage: () => ask((client) => snapshot(client, () => readCoverage(client))),
    gaps: (most) => ask((client) => snapshot(client, () => readGaps(client, most))),
    holdings: (query) => ask((client) => snapshot(client, () => readHoldings(client, query, spread))),
    read: (reading) => ask((client) => snapshot(client, () => runReading(client, reading()))),
    ...(spread && { clusterFaults: () => ask((client) => readClusterFaults(client, address.schema)) }),
    close: async () => {
      await connections.close()
    },
  }
}

/** Whether the tables are spread over a cluster. */
async function openWith(address: PostgresAddress): Promise<boolean> {
  try {
    const client = await connect(writerConfig(address))
    try {
      checkVersion(await schemaVersion(client, address), address)
      return await isSpread(client, address.schema)
    } finally {
      await client.end().catch(() => {})
    }
  } catch (error) {
    throw explainPostgresError(address.name, error)
  }
}

const NOTHING = { rows: [], edges: null, more: false, hasRowsAtOrBefore: false }

type Markets = {
  /** By id, kept while they are asked for: they never change, but a schema may be made anew. */
  numbers: LRUCache<string, bigint>
  /** Whether the tables are spread over a cluster, by their markets. */
  spread: boolean
}

const MAX_MARKETS_KNOWN = 10_000

/** Whether a page is read by two statements, which are to be of one snapshot: a span is read ahead of its rows. */
function isInSteps({ resource: { storage }, selection }: PageQuery): boolean {
  return storage.span !== undefined && selection[storage.span.filter] !== undefined
}

/** A page, within the caller's transaction where it has one. */
async function readPageWithin(client: Queryable, query: PageQuery, markets: Markets): Promise<Page> {
  const { resource, selection, limit } = query
  const nothing = async (): Promise<Page> => ({ ...NOTHING, ...(await readState(client)) })
  if (selectsNothing(selection)) return nothing()
  let asColumns = isReadAsColumns(resource, markets.spread)
  for (;;) {
    const market = await marketOf(client, resource, selection, markets)
    if (market === undefined) return nothing()
    const spanOf = spanStatement(resource, selection, market)
    let span: Span | null = null
    if (spanOf !== null) {
      const [found] = await rows(client, spanOf)
      if (found === undefined) return nothing()
      span = { first: BigInt(found[0] as string), last: BigInt(found[1] as string) }
    }
    const scans = pageScans(query, span, market)
    const statementOf = asColumns ? columnsStatement : rowsStatement
    const statement = statementOf(scans, { limit: limit + 1, withState: !markets.spread })
    const [apart, answer] = await withStateApart(client, statement, markets.spread)
    const found = asColumns ? foundInColumns(query, answer) : foundInRows(query, answer)
    const [hasRowsAtOrBefore, marketId, ...state] = [...found.facts, ...apart]
    if (market !== null && marketId !== scopeOf(resource, selection)) {
      markets.numbers.delete(scopeOf(resource, selection)!)
      continue
    }
    if (found.rows === null) {
      asColumns = false
      continue
    }
    return {
      ...cutRows(found.rows, limit),
      edges: null,
      hasRowsAtOrBefore: (hasRowsAtOrBefore as unknown) === true,
      ...stateOf(state),
    }
  }
}

/** The rows of a page and one more, null where they have to be read as they are; and what else its statement says. */
type Found = { rows: Row[] | null; facts: Row }

/** What a rowsStatement gives; behind the columns of the rows stand those of the facts, empty. */
function foundInRows({ resource }: PageQuery, answer: Row[]): Found {
  const columns = resource.storage.columns.length
  // The first fact is never null.
  const at = answer.findIndex((row) => row[columns] !== null)
  const [facts] = answer.splice(at, 1)
  return { rows: answer, facts: facts!.slice(columns) }
}

/** What a columnsStatement gives. */
function foundInColumns(query: PageQuery, [row]: Row[]): Found {
  const columns = openColumns(query)
  const [count, ...facts] = row!.slice(columns.length)
  return { rows: rowsOfColumns(query, columns, row as (string | null)[], Number(count)), facts }
}

/**
 * The rows of a statement. On a cluster the coordinator says first how the store stands, and the market's machine then
 * what it holds: rows may be newer than that, never older.
 */
async function withStateApart(
  client: Queryable,
  statement: Statement,
  spread: boolean,
): Promise<[state: Row, found: Row[]]> {
  const [[state], found] = await Promise.all([
    spread ? rowsOf(client, READ_STATE) : [[]],
    rows(client, statement),
  ])
  return [state!, found]
}

/** The number of the market in scope; null where rows do not name it by that, undefined for one that is not known. */
async function marketOf(
  client: Queryable,
  resource: Resource,
  selection: Selection,
  markets: Markets,
): Promise<bigint | null | undefined> {
  const statement = marketStatement(resource, selection)
  if (statement === null) return null
  const id = scopeOf(resource, selection)!
  const known = markets.numbers.get(id)
  if (known !== undefined) return known
  const [found] = await rows(client, statement)
  if (found === undefined) return undefined
  markets.numbers.set(id, BigInt(found[0]!))
  return BigInt(found[0]!)
}

/**
 * Rows from the texts of their open columns: see columnsText in ../page-statement.ts. Null where a hash is not on one
 * line.
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
    const fixed = fixedValue(resource, selection, name)
    const values =
      fixed === undefined
        ? valuesOf(texts[open.indexOf(column)]!, type)
        : Array(count).fill(type === 'small' ? Number(fixed) : String(fixed))
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

/** Runs `read` in one snapshot. */
async function snapshot<T>(client: Queryable, read: () => Promise<T>): Promise<T> {
  const began = client.query(BEGIN_SNAPSHOT)
  const [, result] = await Promise.all([began, read()])
  await client.query('commit')
  return result
}

const rows = (client: Queryable, statement: Statement) => rowsOf(client, statement.text, statement.values)

async function arrivalsOf(client: Queryable, query: ArrivalQuery): Promise<Arrivals | null> {
  const coverage = query.asOf ?? (await readCoverageOf(client, query.resource))
  if (coverage === null || (await holdsLess(client, coverage))) return null
  return runReading(client, readArrivals(query, coverage))
}

async function readCoverageOf(client: Queryable, { name }: Resource): Promise<Coverage | null> {
  const coverage = await readCoverage(client)
  return coverage === null ? null : coverageOfResource(coverage, name)
}

/** Whether the snapshot holds less than what is taken to be held: that of a replica that lags. */
async function holdsLess(client: Queryable, { height }: Coverage): Promise<boolean> {
  const position = await readPosition(client)
  return position === null || BigInt(position.height) < height
}

/** Runs a reading's statements one after another. */
async function runReading<T>(client: Queryable, reading: Reading<T>): Promise<T> {
  let step = reading.next()
  while (!step.done) {
    const { text } = step.value
    const sent = valueLists(step.value).map((values) => rowsOf(client, text, values))
    step = reading.next((await Promise.all(sent)).flat())
  }
  return step.value
}

async function readGaps(client: Queryable, most: number): Promise<GapSummary | null> {
  const [stream] = await rowsOf(client, READ_STREAM)
  const [count] = await rowsOf(client, COUNT_CURRENT_GAPS)
  const first = await rowsOf(client, READ_CURRENT_GAPS, [BigInt(most)])
  return gapSummaryOf(stream ?? null, count!, first)
}

async function readHoldings(
  client: Queryable,
  query: HoldingsQuery,
  spread: boolean,
): Promise<Holdings | null> {
  const statements = holdingsStatements(query, spread)
  const [stream] = await rowsOf(client, READ_STREAM)
  const gaps = await rows(client, statements.gaps)
  const imported = await rows(client, statements.imported)
  const resourceGaps = await rowsOf(client, READ_RESOURCE_GAPS)
  const pruned = await rowsOf(client, READ_PRUNED)
  const resources: Row[][] = []
  for (const statement of statements.resources) resources.push(await rows(client, statement))
  return holdingsOf(query, { stream: stream ?? null, gaps, resourceGaps, imported, pruned, resources })
}

async function readState(client: Queryable): Promise<ReturnType<typeof stateOf>> {
  const [row] = await rowsOf(client, READ_STATE)
  return stateOf(row!)
}

/** Each of the statements is a snapshot by itself. */
async function readPosition(client: Queryable): Promise<Position | null> {
  const [row] = await rowsOf(client, READ_POSITION)
  return positionOf(row ?? null)
}

/** What the store holds, within the caller's transaction. */
export async function readCoverage(client: Queryable): Promise<Coverage | null> {
  const [[stream], gaps, resourceGaps, imported] = await Promise.all([
    rowsOf(client, READ_STREAM),
    rowsOf(client, READ_GAPS),
    rowsOf(client, READ_RESOURCE_GAPS),
    rowsOf(client, READ_IMPORTED),
  ])
  return coverageOf(stream ?? null, gaps, resourceGaps, imported)
}
