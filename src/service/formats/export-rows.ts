import { setImmediate as nextRound } from 'node:timers/promises'
import { type Key, keyOf, type Resource, type Row, type Selection } from '#core/model/resource'
import { decodeCursor, encodeCursor } from '#core/resources/cursor'
import { decodeMarketCursor, encodeMarketCursor } from '#core/resources/market-cursor'
import { cursorsOf } from '#core/store/pages/edges'
import type { LineCursors, Lines } from '#core/store/pages/page'
import { readNextMarket } from '#core/store/queries/contents/next-market'
import type { Snapshot } from '#core/store/store'

/** Rows read at a time: few enough that other work waits for milliseconds only. */
const EXPORT_CHUNK_ROWS = 1000

/** All rows of a selection, in the order of the key, or those after a row. */
export type ExportQuery = {
  resource: Resource
  selection: Selection
  descending: boolean
  /** Rows strictly after this key, in the direction of reading; null: from the first row on. */
  cursor: Key | null
  /**
   * Of a resource with rows bound to a market: present if the rows of all markets are one list by market id, or those
   * of the selection's market are a part of it. The market of the cursor, null without one. Absent if the rows are
   * those of the selection's market alone, or bound to no market.
   */
  list?: { market: string | null }
  times?: TimesForm | undefined
  /** In Parquet, decimal numbers as texts, which hold every value. */
  numbers?: 'text' | undefined
}

/**
 * The form of times. In texts: RFC 3339 in UTC, otherwise Unix nanoseconds. In Parquet: UTC in microseconds, or nanoseconds
 * without a zone, otherwise UTC in nanoseconds.
 */
export type TimesForm = 'iso' | 'micros' | 'local'

/** A row, the cursor to resume after it, and what binds its node to a market. */
export type ExportedRow = { row: Row; cursor: string; selection: Selection }

/** Source of rows. */
export type ExportSource = Pick<Snapshot, 'page' | 'read'>

/** Source of lines, if the database writes them. */
export type LineSource = Pick<Snapshot, 'lines' | 'read'>

/**
 * Reads all rows of a query from one snapshot, many at a time, and each time only after the previous ones have been
 * used.
 */
export async function* exportRows(
  query: ExportQuery,
  source: ExportSource,
  signal?: AbortSignal,
): AsyncGenerator<ExportedRow[], void, undefined> {
  for await (const part of marketQueries(query, source)) {
    const { resource, selection } = part
    const cursorOf =
      query.list === undefined
        ? (row: Row) => encodeCursor(resource, selection, row)
        : (row: Row) => encodeMarketCursor(resource, selection.marketId!, row)
    yield* selectedRows(part, cursorOf, source, signal)
  }
}

/** As {@link exportRows}, but as lines of ndjson, written by the database; each with its number of rows. */
export async function* exportLines(
  query: ExportQuery,
  source: Required<LineSource>,
  signal?: AbortSignal,
): AsyncGenerator<Lines, void, undefined> {
  const cursors = query.list === undefined ? 'own' : 'of all markets'
  for await (const part of marketQueries(query, source)) {
    let { cursor } = part
    for (;;) {
      await nextRound()
      signal?.throwIfAborted()
      const lines = await source.lines({ ...part, cursor, limit: EXPORT_CHUNK_ROWS, cursors })
      // Before the memory is used for other lines.
      cursor = lines.count < EXPORT_CHUNK_ROWS ? null : lastKeyOf(part, lines.text, cursors)
      if (lines.count > 0) yield lines
      if (cursor === null) break
    }
  }
}

/** The key of the row of the last line. */
function lastKeyOf({ resource, selection }: ExportQuery, text: Uint8Array, cursors: LineCursors): Key {
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.length)
  // A line ends as an edge does.
  const { endCursor } = cursorsOf({ bytes, start: 0, end: bytes.length })
  return cursors === 'own'
    ? (decodeCursor(resource, selection, endCursor) as Key)
    : (decodeMarketCursor(resource, endCursor) as { key: Key }).key
}

/** A query part by part: as it is, or market by market. */
async function* marketQueries(
  query: ExportQuery,
  source: Pick<Snapshot, 'read'>,
): AsyncGenerator<ExportQuery, void, undefined> {
  const { resource, selection, descending, cursor, list } = query
  if (list === undefined) {
    yield query
    return
  }
  for await (const marketId of listedMarkets(query, list, source)) {
    const from = marketId === list.market ? cursor : null
    yield { resource, selection: { ...selection, marketId }, descending, cursor: from }
  }
}

/** The markets of a list from that of the cursor on, whether or not rows of that one are still there. */
async function* listedMarkets(
  { resource, selection: { marketId }, descending }: ExportQuery,
  { market }: { market: string | null },
  source: Pick<Snapshot, 'read'>,
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

async function* selectedRows(
  { resource, selection, descending, cursor }: ExportQuery,
  cursorOf: (row: Row) => string,
  source: ExportSource,
  signal: AbortSignal | undefined,
): AsyncGenerator<ExportedRow[], void, undefined> {
  let from = cursor
  for (;;) {
    await nextRound()
    signal?.throwIfAborted()
    const query = { resource, selection, descending, cursor: from, limit: EXPORT_CHUNK_ROWS }
    const { rows, more } = await source.page(query)
    if (rows.length > 0) yield rows.map((row) => ({ row, cursor: cursorOf(row), selection }))
    if (!more) return
    from = keyOf(resource, rows.at(-1)!)
  }
}
