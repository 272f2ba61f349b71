import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Errors of systems that cannot flush a folder, or not one that this user may only write to. */
const CANNOT_FLUSH = ['EINVAL', 'ENOTSUP', 'ENOSYS', 'EACCES', 'EPERM', 'EISDIR', 'EBADF']

/** Waits until a file's bytes and size are on disk, whoever wrote them. */
export function flushFile(path: string): void {
  // Windows flushes only files that are open for writing.
  flush(path, process.platform === 'win32' ? 'r+' : 'r')
}

/**
 * Waits until the names in a folder are on disk. Without it, a file that was created in the folder, linked or moved into it
 * may have lost its name after a power loss, although its bytes were flushed.
 */
export function flushFolder(path: string): void {
  if (process.platform === 'win32') return
  try {
    flush(path, 'r')
  } catch (error) {
    if (!CANNOT_FLUSH.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** As {@link flushFolder}; the thread goes on meanwhile. */
export async function flushFolderMeanwhile(path: string): Promise<void> {
  if (process.platform === 'win32') return
  try {
    const handle = await open(path, 'r')
    try {
      await handle.sync()
    } catch (error) {
      throw explainFlushError(path, error)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (!CANNOT_FLUSH.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** Creates a folder and its missing parents, and waits until their names are on disk. */
export function makeFolder(path: string, mode?: number): void {
  const first = mkdirSync(path, { recursive: true, ...(mode === undefined ? {} : { mode }) })
  if (first === undefined) return
  const above = dirname(resolve(first))
  for (let made = resolve(path); made !== above; made = dirname(made)) flushFolder(dirname(made))
}

function flush(path: string, flags: string): void {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } catch (error) {
    throw explainFlushError(path, error)
  } finally {
    closeSync(descriptor)
  }
}

/** An error of flushing, whose message names the file: the system's names the operation only. */
function explainFlushError(path: string, error: unknown): Error {
  const { code, syscall, message } = error as NodeJS.ErrnoException
  const explained = new Error(
    `${path}: cannot be written to disk (${message}); check for a full or failing disk`,
    { cause: error },
  )
  return Object.assign(explained, { code, syscall })
}
