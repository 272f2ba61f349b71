import { setImmediate as nextTurn } from 'node:timers/promises'
import { encodeCursor } from '../resources/cursor.ts'
import { encodeMarketCursor } from '../resources/market-cursor.ts'
import { type Key, keyOf, type Resource, type Row, type Selection } from '../resources/resource.ts'
import { readNextMarket } from '../store/export-readings.ts'
import type { Snapshot } from '../store/store.ts'

/** Rows that are read at a time: few enough that what else there is to do waits for milliseconds only. */
const CHUNK_ROWS = 1_000

/** All rows of a selection, in the order of the key, or behind a row. */
export type ExportQuery = {
  resource: Resource
  selection: Selection
  descending: boolean
  /** Rows strictly behind this key, in the direction of reading; null: from the first row on. */
  cursor: Key | null
  /**
   * Of a resource whose rows are bound to a market: that those of all markets are one list, by market id, or those of
   * the selection's market a part of it; and the market of the cursor, null without one. Left out where the rows are
   * those of the selection's market by themselves, or are bound to none.
   */
  list?: { market: string | null }
}

/** A row, the cursor to go on from behind it, and what binds its node to a market. */
export type ExportedRow = { row: Row; cursor: string; selection: Selection }

/** What rows are read from. */
export type RowSource = Pick<Snapshot, 'page' | 'read'>

/**
 * Reads all rows of a query from one snapshot, many at a time and each time no sooner than the ones before have been
 * taken.
 */
export async function* exportRows(
  query: ExportQuery,
  source: RowSource,
  signal?: AbortSignal,
): AsyncGenerator<ExportedRow[], void, undefined> {
  const { resource, selection, descending, list } = query
  if (list === undefined) {
    yield* rowsOf(query, (row) => encodeCursor(resource, selection, row), source, signal)
    return
  }
  for await (const marketId of marketsOf(query, list, source)) {
    const ofMarket = {
      resource,
      selection: { ...selection, marketId },
      descending,
      cursor: marketId === list.market ? query.cursor : null,
    }
    yield* rowsOf(ofMarket, (row) => encodeMarketCursor(resource, marketId, row), source, signal)
  }
}

/** The markets of a list from that of the cursor on, whether or not rows of that one are still there. */
async function* marketsOf(
  { resource, selection: { marketId }, descending }: ExportQuery,
  { market }: { market: string | null },
  source: RowSource,
): AsyncGenerator<string, void, undefined> {
  if (marketId !== undefined) {
    yield marketId
    return
  }
  let from = market === null ? null : { marketId: market, inclusive: true }
  for (;;) {
    const next = await source.read(readNextMarket(resource, from, descending))
    if (next === null) return
    yield next
    from = { marketId: next, inclusive: false }
  }
}

async function* rowsOf(
  { resource, selection, descending, cursor }: ExportQuery,
  cursorOf: (row: Row) => string,
  source: RowSource,
  signal: AbortSignal | undefined,
): AsyncGenerator<ExportedRow[], void, undefined> {
  let from = cursor
  for (;;) {
    await nextTurn()
    signal?.throwIfAborted()
    const asked = { resource, selection, descending, cursor: from, limit: CHUNK_ROWS }
    const { rows, more } = await source.page(asked)
    if (rows.length > 0) yield rows.map((row) => ({ row, cursor: cursorOf(row), selection }))
    if (!more) return
    from = keyOf(resource, rows.at(-1)!)
  }
}
