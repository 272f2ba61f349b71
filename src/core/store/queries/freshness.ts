import type { Row } from '../../model/resource.ts'
import { READ_CHANGES, READ_STATE, readChanges, type StoreVersion } from '../changes.ts'
import type { Freshness, Query, StoreHead } from '../pages/page.ts'

/** How a store stands: its last commit, and its last block; null if it has none. */
export type StoreState = { version: StoreVersion; storeHead: StoreHead | null }

/** The state in a row of READ_STATE, or of READ_CHANGES, which holds one thing more (changes.ts). */
export function stateOf(row: Row): StoreState {
  const [version, mark, height, timestamp] = row as readonly (string | null)[]
  return {
    version: { version: BigInt(version!), mark: mark! },
    storeHead: height === null ? null : { height: height!, timestamp: timestamp! },
  }
}

/** Reads the store's state and its changes since a known version. */
export function* readFreshness(since: StoreVersion | null): Query<Freshness> {
  if (since !== null) {
    const found = freshnessOf(yield { text: READ_CHANGES, values: [since.version] }, since)
    if (found !== null) return found
  }
  const [state] = yield { text: READ_STATE }
  return { ...stateOf(state!), changed: null }
}

/**
 * The state and changes in rows of commits since a known version; null if they do not begin with that version: it is of
 * another store, or too old.
 */
function freshnessOf(rows: readonly Row[], since: StoreVersion): Freshness | null {
  const [first] = rows
  if (first === undefined) return null
  const known = stateOf(first).version
  if (known.version !== since.version || known.mark !== since.mark) return null
  const changes = rows.slice(1).map(([, , , , scopes]) => readChanges(scopes as string))
  const isKnown = changes.every((some) => some !== null)
  return { ...stateOf(rows.at(-1)!), changed: isKnown ? changes.flat() : null }
}
