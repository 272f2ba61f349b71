import type { Query } from '../queries-protocol.ts'

/**
 * How far rows have been pruned: those with earlier times (Unix nanoseconds), and lower heights; null if never by that.
 * Older rows may have arrived since, with a filled gap.
 */
export type PrunedBefore = { timestamp: string | null; height: string | null }

/** How far rows have been pruned; null if never. */
export function* readPrunedBefore(): Query<PrunedBefore | null> {
  const [row] = yield {
    text: 'select cast(before_timestamp as text), cast(before_height as text) from pruned',
  }
  if (row === undefined) return null
  const [timestamp, height] = row as [string | null, string | null]
  return { timestamp, height }
}
