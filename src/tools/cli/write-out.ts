import { createWriteStream, existsSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isDevice, writeWhole } from '#core/concurrency/whole-file'
import { StoreError } from '#core/store/errors'
import { endAtOutputFault } from './output.ts'

/** Refuses to write to a file that is there, unless `--force` is given. A device, such as a named pipe, is written to as it is. */
export function refuseExisting(out: string, force: boolean | undefined): void {
  if (!force && existsSync(out) && !isDevice(out))
    throw new StoreError(`${out}: already exists; name another file, or add --force to overwrite it`)
}

/** Writes to standard output, to a device, or to a file that gets its name once it is whole and on disk. */
export async function writeOut(
  out: string | undefined,
  bytes: AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const source = Readable.from(bytes, { objectMode: false })
  if (out === undefined) {
    await pipeline(source, process.stdout, { end: false }).catch(endAtOutputFault)
    return
  }
  const writeTo = (path: string, options = {}) => pipeline(source, createWriteStream(path, options))
  try {
    if (isDevice(out)) await writeTo(out)
    else await writeWhole(out, (partial) => writeTo(partial, { flush: true }))
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new StoreError(`${out}: cannot be written (${message})`, { cause: error })
  }
}
