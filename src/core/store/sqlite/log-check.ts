import { existsSync, realpathSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { StoreError } from '../store.ts'

/* Committed data are in the WAL beside the file (`lyra.db-wal`) until a checkpoint copies them. SQLite uses any WAL that it finds there: one left by a killed process, beside a store replaced or restored since, would overwrite parts of the new store with the old one. So each commit increments a counter, and stores the counter's value when the present WAL began (`log_from`). A file belongs to its WAL if both are of the same store and the file has at least `log_from` commits, and no more than the WAL. */

/** The row of `store_file`. Counts are of commits. */
type FileState = { storeId: string; commits: bigint; logFrom: bigint }

/** The writer copies the WAL to the file once it has this many bytes. */
export const MAX_LOG_BYTES = 4 * 1024 * 1024

/** A log that is being copied while it is compared looks wrong; the next time it is not. */
const CHECK_ATTEMPTS = 3

/** How long the check waits for another connection's lock, in milliseconds. */
const LOCK_WAIT_MS = 1_000

/** SQLite's result code for a statement that names a missing table. */
const NO_SUCH_TABLE = 1

/** The log of a store's file. SQLite puts it beside the file itself, not beside a link to it. */
function logPath(path: string): string {
  return `${realpathSync(path)}-wal`
}

/** Whether some commits are only in the WAL. */
export function hasLog(path: string): boolean {
  return logBytes(path) > 0
}

/** Size of the WAL in bytes; 0 if there is none. */
export function logBytes(path: string): number {
  if (!existsSync(path)) return 0
  return statSync(logPath(path), { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Rejects a file whose WAL belongs to a different file. Changes neither.
 *
 * @throws {StoreError} if the file and its WAL do not belong together.
 */
export function checkLog(path: string): void {
  if (!hasLog(path)) return
  for (let attempt = 0; attempt < CHECK_ATTEMPTS; attempt++) {
    const own = readFileState(path, 'without log')
    const logged = readFileState(path, 'with log')
    if (logged === null || belongs(own, logged)) return
  }
  throw new StoreError(
    `${logPath(path)} belongs to a different database: ${path} was replaced or restored while its -wal and -shm files ` +
      `were left behind. Delete these two files, or restore the original ${path}`,
  )
}

/** A new file is empty: all data are in its first WAL. */
function belongs(own: FileState | null, logged: FileState): boolean {
  if (own === null) return logged.logFrom === 0n
  return own.storeId === logged.storeId && logged.logFrom <= own.commits && own.commits <= logged.commits
}

/** The state of the file alone, or with its WAL; null if Lyra has not written it yet. */
function readFileState(path: string, how: 'with log' | 'without log'): FileState | null {
  const location = pathToFileURL(realpathSync(path))
  if (how === 'without log') location.searchParams.set('immutable', '1')
  using database = new DatabaseSync(location, {
    readOnly: true,
    timeout: LOCK_WAIT_MS,
    defensive: false,
  })
  try {
    // A file that was being copied to when its process was killed is shorter than its first page says.
    database.exec('pragma writable_schema = on')
    const statement = database.prepare('select store_id, commits, log_from from store_file')
    statement.setReadBigInts(true)
    const row = statement.get() as { store_id: string; commits: bigint; log_from: bigint } | undefined
    return row === undefined ? null : { storeId: row.store_id, commits: row.commits, logFrom: row.log_from }
  } catch (error) {
    const code = (error as { errcode?: number }).errcode
    if (code === NO_SUCH_TABLE || how === 'without log') return null
    throw error
  }
}
