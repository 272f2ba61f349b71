import { renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { PlainError } from '../domain/plain-error.ts'
import { lockTemporaryFile } from './file-lock.ts'
import { flushFolder } from './flush.ts'
import { realPathOf } from './real-path.ts'

/** Another process is writing the file. */
export class FileBeingWrittenError extends PlainError {
  override name = 'FileBeingWrittenError'
}

/**
 * Has a file written beside its place, `FILE.partial`, which it takes once it is whole; an earlier file stays there until
 * then, and if anything fails. The next run removes what a killed one has left. A link stays, and the file that it names is
 * replaced.
 *
 * @param write writes the file with the path that it receives, and has it on disk at its end
 *
 * @throws {FileBeingWrittenError} while another process writes the same file; what `write` throws; and errors of the file
 *   system.
 */
export async function writeWhole(file: string, write: (partial: string) => Promise<void>): Promise<void> {
  const place = realPathOf(file)
  const partial = `${place}.partial`
  const unlock = lockTemporaryFile(`${partial}-lock`)
  if (unlock === null) {
    throw new FileBeingWrittenError(
      `${file}: another process is writing it; wait until it ends, or name another file`,
    )
  }
  try {
    removePartial(partial)
    await write(partial)
    renameSync(partial, place)
    flushFolder(dirname(place))
  } catch (error) {
    removePartial(partial)
    throw error
  } finally {
    unlock()
  }
}

/** Whether a path names something that is there and is written to as it is, such as a named pipe or a terminal. */
export function isDevice(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats !== undefined && !stats.isFile() && !stats.isDirectory()
}

/** A store that was being copied may have a journal. */
function removePartial(partial: string): void {
  for (const ending of ['', '-journal']) rmSync(`${partial}${ending}`, { force: true })
}
