import { MAX_INT64 } from '../../domain/integers.ts'
import { matchesNothing } from '../../model/filters.ts'
import { compareResourceKeys, type Key, type Resource, type Selection } from '../../model/resource.ts'
import type { PageQuery } from './page.ts'

/** One end of a range of keys. */
export type Bound = { key: Key; inclusive: boolean }

/** A range of a resource's rows in one direction. */
export type Scan = {
  resource: Resource
  selection: Selection
  /** The number of the market in scope, if the resource's rows name it by number. */
  market: bigint | null
  lower: Bound | null
  upper: Bound | null
  descending: boolean
}

/** The ranges of keys that a page needs. */
export type PageScans = {
  page: Scan
  /** The scan of the rows at or before the cursor; null without a cursor. */
  atOrBefore: Scan | null
}

/** The first and last value of the first key column in the rows that a selection can have. */
export type KeySpan = { first: bigint; last: bigint }

/**
 * Turns a page query into ranges of keys. The date range, the span of a filter's rows and the cursor are joined to one
 * lower and one upper end, so that the database reads the page's rows and no others.
 *
 * @param market the number of the market in scope, if rows name it by number
 */
export function pageScans(query: PageQuery, span: KeySpan | null, market: bigint | null): PageScans {
  const { resource, selection, descending, cursor } = query
  // A range that rows overlap is a condition (scan-sql.ts).
  const range = resource.overlapRange === undefined ? selection : {}
  const from = later(range.from, span?.first)
  const to = earlier(range.to, span === null || span.last === MAX_INT64 ? undefined : span.last + 1n)
  const whole: Scan = {
    resource,
    selection,
    market,
    lower: from === undefined ? null : { key: firstKeyOf(resource, from), inclusive: true },
    upper: to === undefined ? null : { key: firstKeyOf(resource, to), inclusive: false },
    descending,
  }
  if (cursor === null) return { page: whole, atOrBefore: null }
  const ahead = { key: cursor, inclusive: false }
  const passed = { key: cursor, inclusive: true }
  const [start, end] = descending ? (['upper', 'lower'] as const) : (['lower', 'upper'] as const)
  return {
    page: { ...whole, [start]: narrower(start, whole[start], ahead) },
    atOrBefore: { ...whole, [end]: narrower(end, whole[end], passed) },
  }
}

/** Whether no row can match a selection: its date range is empty or reversed, or a value is one that no row can have. */
export function selectsNothing({ filters }: Resource, selection: Selection): boolean {
  const { from, to } = selection
  if (from !== undefined && to !== undefined && from >= to) return true
  return filters.some((filter) => matchesNothing(filter, selection[filter.name]))
}

/**
 * Whether the rows of a selection lie side by side in one table, for each series of the resource: a page then reads no row
 * that it does not have, but the next one of each series.
 */
export function areAdjacent({ filters, storage, overlapRange }: Resource, selection: Selection): boolean {
  const { from, condition, series } = storage
  const hasRange = selection.from !== undefined || selection.to !== undefined
  return (
    from === undefined &&
    condition === undefined &&
    selection.greatest === undefined &&
    !(overlapRange !== undefined && hasRange) &&
    filters.every(({ name }) => selection[name] === undefined || name === series?.filter)
  )
}

/** The lowest key with a value in its first column. The other integers of keys are never negative. */
function firstKeyOf({ key }: Resource, value: bigint): Key {
  return [value, ...key.slice(1).map(({ type }) => (type === 'id' || type === 'text' ? '' : 0n))]
}

function later(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a
}

function earlier(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined || (b !== undefined && b < a) ? b : a
}

/** The stricter of two ends: the greater of two lower ends, the smaller of two upper ends. */
function narrower(end: 'lower' | 'upper', a: Bound | null, b: Bound): Bound {
  if (a === null) return b
  const order = compareResourceKeys(a.key, b.key)
  if (order === 0) return a.inclusive ? b : a
  return order > 0 === (end === 'lower') ? a : b
}
