import { READ_STATE, type StoreVersion } from '../changes.ts'
import type { Freshness } from '../pages/page.ts'
import { readFreshness, type StoreState, stateOf } from '../queries/freshness.ts'
import type { Connection } from './connection.ts'
import { runSqliteReading } from './run-steps.ts'

/** Reads how a store stands, as cheaply as may be: it is asked for every page that is kept in memory. */
type LatestFreshness = {
  /** The state read in this round of the event loop, to which no earlier message can be newer; or null. */
  recent(since: StoreVersion): Freshness | null
  read(connection: Connection, since: StoreVersion | null): Freshness
}

export function createLatestFreshness(): LatestFreshness {
  let last: { connection: Connection; dataVersion: number; unchanged: Freshness } | null = null
  let isRecent = false

  function keepForThisRound(): void {
    isRecent = true
    setImmediate(() => {
      isRecent = false
    })
  }

  return {
    recent: (since) => (isRecent && last?.unchanged.version === since ? last!.unchanged : null),

    read: (connection, since) => {
      // Read before the rows: the next reading finds commits in between.
      const { dataVersion } = connection
      if (
        last?.unchanged.version === since &&
        last!.connection === connection &&
        last!.dataVersion === dataVersion
      ) {
        keepForThisRound()
        return last!.unchanged
      }
      const known = last
      const found = runSqliteReading(connection, readFreshness(since))
      // A commit that notes no changes is not one of this program's: anything may have changed.
      const isForeign =
        known?.connection === connection &&
        known.dataVersion !== dataVersion &&
        found.version.version === since?.version
      const version = isForeign ? { ...found.version } : found.version
      last = { connection, dataVersion, unchanged: { ...found, version, changed: [] } }
      keepForThisRound()
      return isForeign ? { ...found, version, changed: null } : { ...found, version }
    },
  }
}

/** How the store stands, in the connection's transaction, if it has one. */
export function readStoreState(connection: Connection): StoreState {
  return stateOf(connection.row(READ_STATE)!)
}
