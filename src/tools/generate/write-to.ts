import type { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { generateRecords } from './generate.ts'
import type { GenerateOptions } from './options.ts'

/**
 * Writes a generated stream to `stream`, as fast as that takes it, and leaves it open. Ends quietly, and early,
 * if the reader has gone away (EPIPE) and where `signal` is aborted; a record may then be cut off.
 *
 * @throws {GenerateOptionError} for an option that is out of its range, and whatever else the stream fails with.
 */
export async function writeTo(
  stream: Writable,
  options: GenerateOptions,
  signal?: AbortSignal,
): Promise<void> {
  let failure: NodeJS.ErrnoException | null = null
  const fail = (error: Error) => {
    failure = error
  }
  stream.on('error', fail)
  try {
    for (const chunk of generateRecords(options)) {
      if (signal?.aborted || stream.destroyed) break
      await written(stream, chunk, signal)
      // Files and pipes are written to without ever waiting: this lets signals be heard.
      await setImmediate()
    }
  } finally {
    stream.off('error', fail)
  }
  if (failure !== null && !isGone(failure)) throw failure
}

/** Resolves when the chunk has been taken, cannot be taken (the stream's `error` event says why), or on abort. */
function written(stream: Writable, chunk: Uint8Array, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done)
    stream.write(chunk, done)
  })
}

function isGone(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE'
}
