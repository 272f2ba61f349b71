import { lstatSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** Permission bits with which others than the owner may write. */
const WRITABLE_BY_OTHERS = 0o022

/**
 * A folder for compiled code that only this user can write, created if it does not exist; null if there is none. Node executes what
 * it finds there instead of the program's own code, and checks no owner: so it is never in a folder that others share.
 *
 * @returns {string | null}
 */
export function compileCacheFolder() {
  const { XDG_CACHE_HOME: caches } = process.env
  // By its specification, a relative path does not count.
  const parent = caches !== undefined && isAbsolute(caches) ? caches : join(homedir(), '.cache')
  const folder = join(parent, 'lyra')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Not the target of a link, which its owner may change.
    const stats = lstatSync(folder)
    const isOwn = process.geteuid === undefined || stats.uid === process.geteuid()
    return stats.isDirectory() && isOwn && (stats.mode & WRITABLE_BY_OTHERS) === 0 ? folder : null
  } catch {
    return null
  }
}
