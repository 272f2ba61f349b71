import {
  closeSync,
  constants,
  fchownSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { isFileLocked, lockFile } from '../../concurrency/file-lock.ts'
import { realPathOf } from '../../concurrency/real-path.ts'
import type { WriterProcess } from '../inspection.ts'

/** Locks a store for writing. Returns the function that unlocks it; null if another writer has locked it. */
export function tryLock(path: string, onFault: (error: Error) => void): (() => void) | null {
  try {
    const lock = lockOf(path)
    createOwnedLike(path, lock)
    const unlock = lockFile(lock)
    if (unlock === null) return null
    const leave = nameWriter(path)
    return () => {
      leave()
      unlock()
    }
  } catch (error) {
    // The folder may be missing or read-only, which opening the store reports. Commits also detect another writer.
    onFault(error as Error)
    return () => {}
  }
}

/**
 * Writes the owner of the lock to a file beside it; returns the function that removes it. A killed process leaves the file
 * behind.
 */
function nameWriter(path: string): () => void {
  const name = writerNameOf(path)
  try {
    rmSync(name, { force: true })
    createOwnedLike(
      path,
      name,
      JSON.stringify({ host: hostname(), process: process.pid } satisfies WriterProcess),
    )
  } catch {
    // The file only informs people, so a fault does not matter.
  }
  return () => rmSync(name, { force: true })
}

/** Whether a process has locked a store for writing; null if this user may not read the lock. */
export function isLocked(path: string): boolean | null {
  try {
    return isFileLocked(lockOf(path))
  } catch {
    return null
  }
}

/** The process that has locked a store for writing, as named by itself; null if it is not named. */
export function readWriter(path: string): WriterProcess | null {
  try {
    const { host, process } = JSON.parse(readFileSync(writerNameOf(path), 'utf8')) as Partial<WriterProcess>
    return typeof host === 'string' && typeof process === 'number' ? { host, process } : null
  } catch {
    return null
  }
}

const writerNameOf = (path: string) => `${realPathOf(path)}-writer`

const lockOf = (path: string) => `${realPathOf(path)}-lock`

/** The notice of a store that cannot be locked. */
export const describeLockFault = (path: string, { message }: Error) =>
  `${lockOf(path)} cannot be locked (${message}): another writer is only noticed when it commits. Give the file to the store's user`

/**
 * Creates a file that only its user can read, because anyone who can read it can lock it. The user is that of the store, if
 * the store exists, even if root creates the file. Links of that user are not followed.
 */
function createOwnedLike(store: string, path: string, content = ''): void {
  const { O_CREAT, O_EXCL, O_WRONLY } = constants
  let descriptor: number
  try {
    descriptor = openSync(path, O_CREAT | O_EXCL | O_WRONLY, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (process.geteuid?.() !== 0) return
    const existing = lstatSync(path, { throwIfNoEntry: false })
    if (existing?.isSymbolicLink()) throw new Error('it is a link')
    // It has been removed since.
    if (existing === undefined) createOwnedLike(store, path, content)
    return
  }
  try {
    // By descriptor, because the name may lead elsewhere by now.
    writeSync(descriptor, content)
    const owner = process.geteuid?.() === 0 ? statSync(store, { throwIfNoEntry: false }) : undefined
    if (owner !== undefined) fchownSync(descriptor, owner.uid, owner.gid)
  } finally {
    closeSync(descriptor)
  }
}
