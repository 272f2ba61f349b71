import { realpathSync } from 'node:fs'

/**
 * The file to which a path leads through links; SQLite puts the WAL beside it. The path itself if it leads to no file, which
 * may have been removed a moment ago.
 */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
