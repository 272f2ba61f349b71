import { readlinkSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Systems follow no more links than this from one path. */
const MOST_LINKS = 40

/**
 * The file to which a path leads through links, also one that is not there yet or was removed a moment ago; SQLite puts the WAL
 * beside it. The path itself if it is no link and leads to no file.
 */
export function realPathOf(path: string): string {
  let reached = path
  for (let links = 0; links < MOST_LINKS; links++) {
    try {
      return realpathSync(reached)
    } catch {
      const target = targetOf(reached)
      if (target === null) return reached
      reached = target
    }
  }
  return path
}

/** The path that a link names; null if there is no link, or its folder is missing. */
function targetOf(path: string): string | null {
  try {
    return resolve(realpathSync(dirname(path)), readlinkSync(path))
  } catch {
    return null
  }
}
