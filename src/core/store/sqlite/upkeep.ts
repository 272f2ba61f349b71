import { changeStatements, EVERY_CHANGE } from '../changes.ts'
import type { Upkeep } from '../store.ts'
import { refuseReadOnly, withSqliteErrors } from './errors.ts'
import { openForWriting } from './open-connection.ts'
import { runSqliteMutation } from './run-sql.ts'
import { MAX_WAL_BYTES, walBytes } from './wal-check.ts'

/** If the WAL is empty now, it begins with this commit: the file contains all earlier commits (wal-check.ts). */
const COUNT_UPKEEP_COMMIT = `
  update store_file set
    log_from = case when $1 = 0 then commits else log_from end,
    commits = commits + 1,
    upkeep_commits = upkeep_commits + 1`

/** Opens upkeep on a separate connection. */
export function openSqliteUpkeep(path: string): Upkeep {
  refuseReadOnly(path)
  const connection = openForWriting(path)
  return {
    read: async ({ text, values }) => withSqliteErrors(path, () => connection.rows(text, values)),

    write: async (mutation) =>
      withSqliteErrors(path, () => {
        // If a reader of an older snapshot prevents it, the WAL is copied later.
        if (walBytes(path) > MAX_WAL_BYTES) connection.truncateWal()
        return connection.transaction('immediate', () => {
          connection.run(COUNT_UPKEEP_COMMIT, [BigInt(walBytes(path))])
          const rows = runSqliteMutation(connection, mutation())
          // Also without changes: a commit that records none is taken for another program's (latest-freshness.ts).
          connection.runAll(changeStatements(rows > 0 ? EVERY_CHANGE : []))
          return rows
        })
      }),

    close: async () => connection.closeWritten(),
  }
}
