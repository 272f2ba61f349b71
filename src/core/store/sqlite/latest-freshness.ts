import { READ_STATE, type StoreVersion } from '../changes.ts'
import type { Freshness } from '../pages/page.ts'
import { readFreshness, type StoreState, stateOf } from '../queries/freshness.ts'
import type { Connection } from './connection.ts'
import { runSqliteQuery } from './run-sql.ts'

/** The last reading of a store's state: over which connection, and SQLite's number for the last commit of another one. */
type LastReading = { connection: Connection; dataVersion: number; unchanged: Freshness }

/** Reads how a store stands, as cheaply as may be: it is asked for every page that is in the cache. */
export class LatestFreshness {
  #last: LastReading | null = null
  #isRecent = false
  /** Commits seen that note no changes: they are not Lyra's, and anything may have changed. */
  #foreignCommits = 0
  /** How many of these had been seen when a version was given out. */
  readonly #givenAfter = new WeakMap<StoreVersion, number>()

  /** The state read in this round of the event loop, to which no earlier message can be newer; or null. */
  recent(since: StoreVersion): Freshness | null {
    return this.#isRecent && this.#last?.unchanged.version === since ? this.#last.unchanged : null
  }

  /**
   * Reads the state, and the changes since an earlier one.
   *
   * @param since the version of an earlier answer of this object: of any other, everything may have changed
   */
  read(connection: Connection, since: StoreVersion | null): Freshness {
    // Read before the rows: the next reading finds commits in between.
    const { dataVersion } = connection
    const last = this.#last
    const isUnchanged = last?.connection === connection && last.dataVersion === dataVersion
    if (isUnchanged && last.unchanged.version === since) {
      this.#keepForThisRound()
      return last.unchanged
    }
    const found = runSqliteQuery(connection, readFreshness(since))
    const isForeign =
      last?.connection === connection &&
      last.dataVersion !== dataVersion &&
      found.version.version === last.unchanged.version.version
    if (isForeign) this.#foreignCommits++
    const version = { ...found.version }
    const isKnown = since !== null && this.#givenAfter.get(since) === this.#foreignCommits
    this.#givenAfter.set(version, this.#foreignCommits)
    this.#last = { connection, dataVersion, unchanged: { ...found, version, changed: [] } }
    this.#keepForThisRound()
    return { ...found, version, changed: isKnown ? found.changed : null }
  }

  #keepForThisRound(): void {
    this.#isRecent = true
    setImmediate(() => {
      this.#isRecent = false
    })
  }
}

/** How the store stands, in the connection's transaction, if it has one. */
export function readStoreState(connection: Connection): StoreState {
  return stateOf(connection.row(READ_STATE)!)
}
