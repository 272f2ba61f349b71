import type { LRUCache } from 'lru-cache'
import { fixingFilter } from '../../model/filters.ts'
import { marketToNumber, type Row, type RowColumn } from '../../model/resource.ts'
import { READ_STATE } from '../changes.ts'
import { cutRows, MAX_PAGE_BYTES } from '../pages/edges.ts'
import { filtersBySpan, type Located, locateRows } from '../pages/locate.ts'
import { EMPTY_PAGE, type Page, type PageQuery } from '../pages/page.ts'
import { pageScans, selectsNothing } from '../pages/scan.ts'
import { type StoreState, stateOf } from '../queries/freshness.ts'
import type { Statement } from '../queries-protocol.ts'
import { type Queryable, queryRows } from './connection.ts'
import { columnsStatement, isReadAsColumns, openColumns, rowsStatement } from './page-statements.ts'
import { runPostgresQuery } from './run-sql.ts'

/** What a reader knows of markets. */
export type Markets = {
  /** By id. Numbers never change, but a schema may be created anew. */
  numbers: LRUCache<string, bigint>
  /** Whether the tables are distributed over a cluster, by market. */
  isDistributed: boolean
}

export const MAX_MARKETS_KNOWN = 10_000

/** Whether a page takes two statements in one snapshot, because a span is read before its rows. */
export function isInSteps({ resource, selection }: PageQuery): boolean {
  return filtersBySpan(resource, selection).length > 0
}

/** The number of rows to read for a page (null for one more than its limit), and the maximum bytes of the answer. */
type PageLimits = { rows: number | null; maxBytes: number }

export const WHOLE_PAGE: PageLimits = { rows: null, maxBytes: MAX_PAGE_BYTES }

/** The limits of an export's pages, which are not cut. */
export const EXPORTED_PAGE: PageLimits = { rows: null, maxBytes: Number.POSITIVE_INFINITY }

/**
 * A page, within the caller's transaction if it has one.
 *
 * @throws {AnswerTooLongError}
 */
export async function readPage(
  client: Queryable,
  query: PageQuery,
  markets: Markets,
  limits: PageLimits,
): Promise<Page> {
  if (selectsNothing(query.resource, query.selection)) return emptyPage(client)
  const readAs = (form: PageForm) => readPageAs(form, client, query, markets, limits)
  const page = isReadAsColumns(query.resource, markets.isDistributed) ? await readAs(AS_COLUMNS) : null
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
  limits: PageLimits,
): Promise<Page | null> {
  const { resource, selection } = query
  const marketId = marketToNumber(resource, selection)
  const cachedNumber = marketId === null ? undefined : markets.numbers.get(marketId)
  const located = await runPostgresQuery(client, locateRows(resource, selection, cachedNumber))
  if (located === null) return emptyPage(client)
  const { market } = located
  if (market !== null) markets.numbers.set(marketId!, market)
  const { rows, facts } = await readLocated(form, client, query, located, markets.isDistributed, limits)
  if (market !== null && facts.marketId !== marketId) {
    // The schema was created anew, and the cached number is that of another market now.
    markets.numbers.delete(marketId!)
    return readPageAs(form, client, query, markets, limits)
  }
  if (rows === null) return null
  return {
    ...cutRows(rows, query.limit),
    edges: null,
    hasRowsAtOrBefore: facts.hasRowsAtOrBefore,
    ...stateOf(facts.state),
  }
}

/** Facts that a page's statement returns beside the rows. */
type PageFacts = {
  hasRowsAtOrBefore: boolean
  /** The id of the market whose number the statement names; null if it names none. */
  marketId: string | null
  /** The columns of {@link READ_STATE}. */
  state: Row
}

/** Runs the statement for rows whose market and span are known. */
async function readLocated(
  form: PageForm,
  client: Queryable,
  query: PageQuery,
  { market, span }: Located,
  isDistributed: boolean,
  { rows: limit, maxBytes }: PageLimits,
): Promise<{ rows: Row[] | null; facts: PageFacts }> {
  const scans = pageScans(query, span, market)
  const statement = form.statementOf(scans, { limit: limit ?? query.limit + 1, withState: !isDistributed })
  const [stateApart, answer] = await withStateApart(client, statement, isDistributed, maxBytes)
  const { rows, facts } = form.parse(query, answer)
  const [hasRowsAtOrBefore, marketId, ...state] = [...facts, ...stateApart]
  return {
    rows,
    facts: {
      hasRowsAtOrBefore: (hasRowsAtOrBefore as unknown) === true,
      marketId: marketId as string | null,
      state,
    },
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
  isDistributed: boolean,
  maxBytes: number,
): Promise<[state: Row, answer: Row[]]> {
  const [[state], answer] = await Promise.all([
    isDistributed ? queryRows(client, READ_STATE) : [[]],
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

async function readStoreState(client: Queryable): Promise<StoreState> {
  const [row] = await queryRows(client, READ_STATE)
  return stateOf(row!)
}
