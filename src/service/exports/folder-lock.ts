import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { ExportError } from '../formats/export-error.ts'

/**
 * Locks a folder against other exports, by a file beside it, until the lock is released. The lock of a process that has
 * ended is ignored.
 *
 * @throws {ExportError} if another process holds it.
 */
export function lockFolder(folder: string): () => void {
  const path = `${folder}.lock`
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' })
      return () => rmSync(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const holder = Number(readFileSync(path, 'utf8'))
    if (isRunning(holder))
      throw new ExportError(
        `${folder}: process ${holder} is exporting to it; wait until it ends, or delete ${path} if no export is running`,
      )
    rmSync(path, { force: true })
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
