import { closeSync, existsSync, openSync, statSync } from 'node:fs'

/** The identity of a file, and the version of its content. */
export type FileVersion = { id: string; version: string }

/** The file with a path; null if there is none. */
export function fileAt(path: string): FileVersion | null {
  try {
    const { dev, ino, size, mtimeMs } = statSync(path)
    return { id: `${dev}:${ino}`, version: `${size}:${mtimeMs}` }
  } catch {
    return null
  }
}

/** Creates a file that only its owner may read, unless it exists. SQLite gives the WAL the same mode. */
export function createPrivately(path: string): void {
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'a', 0o600))
  } catch {
    // SQLite meets the same fault, and reports it.
  }
}

/**
 * The result of `work`, which needs a file and creates none. If it fails and there is no file, that of `otherwise`: the file
 * is looked at afterwards, because it may be removed at any moment.
 */
export function ifThere<Result>(path: string, work: () => Result, otherwise: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (existsSync(path)) throw error
    return otherwise()
  }
}
