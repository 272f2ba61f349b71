import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Whether a built file is missing, or older than a file of its sources: patterns of paths in the checkout. */
export function isStale(built: string, root: string, sources: readonly string[]): boolean {
  if (!existsSync(built)) return true
  const { mtimeMs } = statSync(built)
  return globSync(sources, { cwd: root }).some((path) => {
    const source = statSync(join(root, path))
    return source.isFile() && source.mtimeMs > mtimeMs
  })
}
