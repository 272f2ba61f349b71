import { performance } from 'node:perf_hooks'
import { READ_STATE, type StoreVersion } from '../changes.ts'
import type { Freshness } from '../pages/page.ts'
import { readFreshness, type StoreState, stateOf } from '../queries/freshness.ts'
import type { Connection } from './connection.ts'
import { runSqliteQuery } from './run-sql.ts'

/** The last reading of the store's state: its connection, and SQLite's number for the last commit of another connection. */
type LastReading = { connection: Connection; dataVersion: number; unchanged: Freshness }

/** Reads the state of a store as cheaply as possible, because every page in the cache requires it. */
export class LatestFreshness {
  #last: LastReading | null = null
  /** The round of the event loop in which it was read, or looked at, last. */
  #round = -1
  /** Number of commits that record no changes: they are not Lyra's, and may have changed anything. */
  #foreignCommits = 0
  /** For each version returned, the number of these commits at that time. */
  readonly #foreignCommitsAt = new WeakMap<StoreVersion, number>()

  /** The state, if it was read in this round of the event loop: it is right for all that arrived before. Otherwise null. */
  recent(since: StoreVersion): Freshness | null {
    return this.#round === currentRound() && this.#last?.unchanged.version === since
      ? this.#last.unchanged
      : null
  }

  /** The state, if no other connection has committed since a version that it was read with; otherwise null. */
  unchanged(connection: Connection, since: StoreVersion): Freshness | null {
    const last = this.#last
    if (last?.connection !== connection || last.unchanged.version !== since) return null
    if (last.dataVersion !== connection.dataVersion) return null
    this.#round = currentRound()
    return last.unchanged
  }

  /**
   * Reads the state, and the changes since an earlier one.
   *
   * @param since a version that this object has returned; with any other, everything may have changed
   */
  read(connection: Connection, since: StoreVersion | null): Freshness {
    const unchanged = since === null ? null : this.unchanged(connection, since)
    if (unchanged !== null) return unchanged
    // Read before the rows, so that the next call notices commits in between.
    const { dataVersion } = connection
    const last = this.#last
    const freshness = runSqliteQuery(connection, readFreshness(since))
    const isForeign =
      last?.connection === connection &&
      last.dataVersion !== dataVersion &&
      freshness.version.version === last.unchanged.version.version
    if (isForeign) this.#foreignCommits++
    const version = { ...freshness.version }
    const isKnown = since !== null && this.#foreignCommitsAt.get(since) === this.#foreignCommits
    this.#foreignCommitsAt.set(version, this.#foreignCommits)
    this.#last = { connection, dataVersion, unchanged: { ...freshness, version, changed: [] } }
    this.#round = currentRound()
    return { ...freshness, version, changed: isKnown ? freshness.changed : null }
  }
}

/** What arrives is read at the beginning of a round, all at once, and what is done with `setImmediate` comes at its end. */
const currentRound = () => performance.nodeTiming.uvMetricsInfo.loopCount

/** The state of the store, within the connection's transaction if it has one. */
export function readStoreState(connection: Connection): StoreState {
  return stateOf(connection.row(READ_STATE)!)
}
