import { LRUCache } from 'lru-cache'
import { marketToNumber, type Row } from '../../../model/resource.ts'
import { READ_STATE } from '../../changes.ts'
import { cutRows, MAX_PAGE_BYTES } from '../../pages/edges.ts'
import { filtersBySpan, type Located, locateRows } from '../../pages/locate.ts'
import { EMPTY_PAGE, type Page, type PageQuery } from '../../pages/page.ts'
import { pageScans, selectsNothing } from '../../pages/scan.ts'
import { type StoreState, stateOf } from '../../queries/freshness.ts'
import { type Queryable, queryRows } from '../connection/query-rows.ts'
import { runPostgresQuery } from '../run-sql.ts'
import { type PageAnswer, rowsInColumns, rowsInRows } from './page-answers.ts'
import { columnsStatement, isReadAsColumns, rowsStatement } from './page-statements.ts'

/** Maximum number of markets whose numbers are cached. */
const MAX_MARKETS = 10_000

/** Whether a page takes two statements in one snapshot, because a span is read before its rows. */
export function readsSpanFirst({ resource, selection }: PageQuery): boolean {
  return filtersBySpan(resource, selection).length > 0
}

/** The number of rows to read for a page (null for one more than its limit), and the maximum bytes of the answer. */
type PageLimits = { rows: number | null; maxBytes: number }

export const WHOLE_PAGE: PageLimits = { rows: null, maxBytes: MAX_PAGE_BYTES }

/** The limits of an export's pages, which are not cut. */
export const EXPORTED_PAGE: PageLimits = { rows: null, maxBytes: Number.POSITIVE_INFINITY }

/** How a page is read: its statement, and the parser of the answer, which says null if it cannot read rows in this form. */
type PageForm = {
  statementOf: typeof rowsStatement
  parse(query: PageQuery, answer: Row[]): PageAnswer | null
}

const AS_COLUMNS: PageForm = { statementOf: columnsStatement, parse: rowsInColumns }
const AS_ROWS: PageForm = { statementOf: rowsStatement, parse: rowsInRows }

/** A page's rows, and what its statement returns beside them. */
type LocatedPage = {
  rows: Row[]
  hasRowsAtOrBefore: boolean
  /** The id of the market whose number the statement names; null if it names none. */
  marketId: string | null
  state: StoreState
}

/** Reads the pages of a store. */
export class PageReader {
  readonly #isDistributed: boolean
  /** The numbers of markets, by id. They never change, but a schema may be created anew. */
  readonly #marketNumbers = new LRUCache<string, bigint>({ max: MAX_MARKETS })

  /** @param isDistributed whether the tables are distributed over a cluster, by market */
  constructor(isDistributed: boolean) {
    this.#isDistributed = isDistributed
  }

  /**
   * A page, within the caller's transaction if it has one.
   *
   * @throws {AnswerTooLongError}
   */
  async read(client: Queryable, query: PageQuery, limits: PageLimits): Promise<Page> {
    if (selectsNothing(query.resource, query.selection)) return emptyPage(client)
    if (isReadAsColumns(query.resource, this.#isDistributed)) {
      const page = await this.#readAs(AS_COLUMNS, client, query, limits)
      if (page !== null) return page
    }
    return (await this.#readAs(AS_ROWS, client, query, limits))!
  }

  /** Reads a page in one form; null if its rows cannot be read in this form. */
  async #readAs(
    form: PageForm,
    client: Queryable,
    query: PageQuery,
    limits: PageLimits,
  ): Promise<Page | null> {
    const marketId = marketToNumber(query.resource, query.selection)
    const located = await this.#locate(client, query, marketId)
    if (located === null) return emptyPage(client)
    const page = await this.#readLocated(form, client, query, located, limits)
    if (page === null) return null
    if (located.market !== null && page.marketId !== marketId) {
      // The schema was created anew, and the cached number is that of another market now.
      this.#marketNumbers.delete(marketId!)
      return this.#readAs(form, client, query, limits)
    }
    return {
      ...cutRows(page.rows, query.limit),
      edges: null,
      hasRowsAtOrBefore: page.hasRowsAtOrBefore,
      ...page.state,
    }
  }

  /**
   * Finds the ranges of a page's rows; null if there are no rows.
   *
   * @param marketId the market whose number the rows have; null if they have none
   */
  async #locate(
    client: Queryable,
    { resource, selection }: PageQuery,
    marketId: string | null,
  ): Promise<Located | null> {
    const cachedNumber = marketId === null ? undefined : this.#marketNumbers.get(marketId)
    const located = await runPostgresQuery(client, locateRows(resource, selection, cachedNumber))
    if (marketId !== null && located !== null && located.market !== null) {
      this.#marketNumbers.set(marketId, located.market)
    }
    return located
  }

  /**
   * Runs the statement for rows whose market and span are known; null if they cannot be read in this form. On a cluster the
   * store's state comes first, from the coordinator, and then the rows from the market's machine: they may be newer than the
   * state, but never older. Elsewhere the statement returns the state, too.
   */
  async #readLocated(
    form: PageForm,
    client: Queryable,
    query: PageQuery,
    { market, span }: Located,
    { rows: limit, maxBytes }: PageLimits,
  ): Promise<LocatedPage | null> {
    const withState = !this.#isDistributed
    const scans = pageScans(query, span, market)
    const { text, values } = form.statementOf(scans, { limit: limit ?? query.limit + 1, withState })
    const [earlierState, answer] = await Promise.all([
      withState ? null : readStoreState(client),
      queryRows(client, text, values, maxBytes),
    ])
    const parsed = form.parse(query, answer)
    if (parsed === null) return null
    const { rows, facts } = parsed
    const [hasRowsAtOrBefore, marketId, ...state] = facts
    return {
      rows,
      hasRowsAtOrBefore: (hasRowsAtOrBefore as unknown) === true,
      marketId: marketId as string | null,
      state: earlierState ?? stateOf(state),
    }
  }
}

async function emptyPage(client: Queryable): Promise<Page> {
  return { ...EMPTY_PAGE, ...(await readStoreState(client)) }
}

async function readStoreState(client: Queryable): Promise<StoreState> {
  const [row] = await queryRows(client, READ_STATE)
  return stateOf(row!)
}
