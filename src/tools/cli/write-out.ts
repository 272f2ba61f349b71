import { createWriteStream, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { flushFolder } from '#core/concurrency/flush'
import { StoreError } from '#core/store/errors'
import { endAtOutputFault } from './output.ts'

/** Writes to standard output, or to a file that gets its name once it is whole and on disk. */
export async function writeOut(
  out: string | undefined,
  bytes: AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const source = Readable.from(bytes, { objectMode: false })
  if (out === undefined) {
    await pipeline(source, process.stdout, { end: false }).catch(endAtOutputFault)
    return
  }
  const partial = `${out}.partial`
  try {
    await pipeline(source, createWriteStream(partial, { flush: true }))
    renameSync(partial, out)
    flushFolder(dirname(out))
  } catch (error) {
    rmSync(partial, { force: true })
    const { syscall, message } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new StoreError(`${out}: cannot be written (${message})`, { cause: error })
  }
}
