import { existsSync, realpathSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { StoreError } from '../store.ts'

/*
 * What is committed stands in the log beside the file (`lyra.db-wal`) until it is copied over. SQLite takes
 * whatever log it finds there: one that a killed process has left, beside a store that has been replaced or
 * restored since, would overwrite parts of the new store with the old one's. So each commit counts itself,
 * and notes how many commits the file held when its present log began (`log_from`). A file belongs to its log
 * if it is of the same store and holds no less than that, and no more than the log.
 */

/** The row of `store_file`. Counts are of commits. */
type FileState = { storeId: string; commits: bigint; logFrom: bigint }

/** A log that is being copied while it is compared looks wrong; the next time it is not. */
const ATTEMPTS = 3

/** How long the check waits for another connection's lock, in milliseconds. */
const LOCK_WAIT_MS = 1_000

/** SQLite's result code for a statement that names what is not there. */
const NO_SUCH_TABLE = 1

/** The log of a store's file. SQLite puts it beside the file itself, not beside a link to it. */
function logPath(path: string): string {
  return `${realpathSync(path)}-wal`
}

/** Whether something is committed that stands in the log only. */
export function hasLog(path: string): boolean {
  return logBytes(path) > 0
}

/** The size of the log in bytes; 0 if there is none. */
export function logBytes(path: string): number {
  if (!existsSync(path)) return 0
  return statSync(logPath(path), { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Refuses a file whose log is another file's. Changes neither.
 *
 * @throws {StoreError} if the file and its log do not belong together.
 */
export function checkLog(path: string): void {
  if (!hasLog(path)) return
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const own = readFileState(path, 'without log')
    const logged = readFileState(path, 'with log')
    if (logged === null || belongs(own, logged)) return
  }
  throw new StoreError(
    `${logPath(path)} belongs to a different database: ${path} was replaced or restored while its -wal and -shm files ` +
      `were left behind. Delete these two files, or restore the original ${path}`,
  )
}

/** A new file holds nothing by itself: all of it is in its first log. */
function belongs(own: FileState | null, logged: FileState): boolean {
  if (own === null) return logged.logFrom === 0n
  return own.storeId === logged.storeId && logged.logFrom <= own.commits && own.commits <= logged.commits
}

/** The state of the file by itself, or with what its log adds; null if no Lyra has written it yet. */
function readFileState(path: string, how: 'with log' | 'without log'): FileState | null {
  const location = pathToFileURL(realpathSync(path))
  if (how === 'without log') location.searchParams.set('immutable', '1')
  const database = new DatabaseSync(location, {
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
  } finally {
    database.close()
  }
}
