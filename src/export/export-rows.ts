import { setImmediate as nextTurn } from 'node:timers/promises'
import { encodeCursor } from '../resources/cursor.ts'
import { type Key, keyOf, type Resource, type Row, type Selection } from '../resources/resource.ts'
import type { Page, PageQuery } from '../store/store.ts'

/** Rows that are read at a time: few enough that what else there is to do waits for milliseconds only. */
const CHUNK_ROWS = 1_000

/** All rows of a selection, in the order of the key, or behind a row. */
export type ExportQuery = {
  resource: Resource
  selection: Selection
  descending: boolean
  /** Rows strictly behind this key, in the direction of reading; null: from the first row on. */
  cursor: Key | null
}

/** A row and the cursor to go on from behind it. */
export type ExportedRow = { row: Row; cursor: string }

/**
 * Reads all rows of a query from one snapshot, many at a time and each time no sooner than the ones before have been
 * taken.
 *
 * @param readPage reads a page of the snapshot
 */
export async function* exportRows(
  { resource, selection, descending, cursor }: ExportQuery,
  readPage: (query: PageQuery) => Promise<Page>,
  signal?: AbortSignal,
): AsyncGenerator<ExportedRow[], void, undefined> {
  let from = cursor
  for (;;) {
    await nextTurn()
    signal?.throwIfAborted()
    const { rows, more } = await readPage({
      resource,
      selection,
      descending,
      cursor: from,
      limit: CHUNK_ROWS,
    })
    if (rows.length > 0) yield rows.map((row) => ({ row, cursor: encodeCursor(resource, selection, row) }))
    if (!more) return
    from = keyOf(resource, rows.at(-1)!)
  }
}
