import type { Coverage } from '../../domain/coverage.ts'
import type { Row } from '../../model/resource.ts'
import { parseChanges, READ_CHANGES, READ_STATE, type StoreVersion } from '../changes.ts'
import type { Freshness, StoreHead } from '../pages/page.ts'
import type { Query } from '../queries-protocol.ts'
import { readCoverage } from './coverage.ts'

/** The state of a store: its last commit, and its last block; null if it has no block. */
export type StoreState = { version: StoreVersion; storeHead: StoreHead | null }

/** The state in a row of READ_STATE, or of READ_CHANGES, which has one more column (changes.ts). */
export function stateOf(row: Row): StoreState {
  const [version, mark, height, timestamp] = row as readonly (string | null)[]
  return {
    version: { version: BigInt(version!), mark: mark! },
    storeHead: height === null ? null : { height: height!, timestamp: timestamp! },
  }
}

/** The state of a store that has a block, and which events it has. */
type FilledStore = { storeHead: StoreHead; version: StoreVersion; coverage: Coverage }

/** Reads a store's state and coverage; null if it has no block. */
export function* readFilledStore(): Query<FilledStore | null> {
  const [state] = yield { text: READ_STATE }
  const { storeHead, version } = stateOf(state!)
  const coverage = yield* readCoverage()
  return storeHead === null || coverage === null ? null : { storeHead, version, coverage }
}

/** Reads the store's state, and its changes since a version. */
export function* readFreshness(since: StoreVersion | null): Query<Freshness> {
  if (since !== null) {
    const freshness = freshnessOf(yield { text: READ_CHANGES, values: [since.version] }, since)
    if (freshness !== null) return freshness
  }
  const [state] = yield { text: READ_STATE }
  return { ...stateOf(state!), changed: null }
}

/**
 * The state and changes in the rows of commits since a version. Null if the rows do not begin with that version, because it
 * is of another store, or too old.
 */
function freshnessOf(rows: readonly Row[], since: StoreVersion): Freshness | null {
  const [first] = rows
  if (first === undefined) return null
  const { version } = stateOf(first)
  if (version.version !== since.version || version.mark !== since.mark) return null
  const changes = rows.slice(1).map(([, , , , scopes]) => parseChanges(scopes as string))
  const isListed = changes.every((ofCommit) => ofCommit !== null)
  return { ...stateOf(rows.at(-1)!), changed: isListed ? changes.flat() : null }
}
