import { decodeCursor } from '../resources/cursor.ts'
import type { Key } from '../resources/resource.ts'
import type { Page, PageQuery } from '../store/store.ts'
import type { Extent } from './page-cache.ts'

/**
 * The rows that a page depends on: those that it shows, those that would stand between them, and on a side where
 * nothing more is, those that could come there. That more rows follow, or stand behind, stays so: rows are only
 * taken out in ways that drop every page that is kept.
 *
 * @param lastCursor the cursor of the row that was read last; `""` for an empty page
 */
export function extentOf(
  { resource, selection, descending, cursor }: PageQuery,
  page: Page,
  lastCursor: string,
): Extent {
  const scope = selection.marketId ?? null
  if (resource.name === 'liquidityProviders')
    return { resource: resource.name, scope, first: null, last: null }
  const lowest = selection.from ?? null
  const highest = selection.to === undefined ? null : selection.to - 1n
  const begin = cursor === null || !page.behind ? null : (cursor[0] as bigint)
  const end = page.more ? firstOf(decodeCursor(resource, scope, lastCursor) as Key) : null
  return {
    resource: resource.name,
    scope,
    first: (descending ? end : begin) ?? lowest,
    last: (descending ? begin : end) ?? highest,
  }
}

function firstOf(key: Key): bigint {
  return key[0] as bigint
}
