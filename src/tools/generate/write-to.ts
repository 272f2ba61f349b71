import type { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { generateRecords } from './generate.ts'
import type { GenerateOptions } from './options.ts'

/**
 * Writes a generated stream to `stream`, as fast as it accepts data, and leaves it open. If the reader has gone away
 * (EPIPE), or `signal` is aborted, it ends early without an error, and a record may be cut off.
 *
 * @throws {GenerateOptionError} for an option that is out of range; also the errors of the stream.
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
      // Writing to files and pipes never waits: without this, signals would not be noticed.
      await setImmediate()
    }
  } finally {
    stream.off('error', fail)
  }
  if (failure !== null && !isGone(failure)) throw failure
}

/** Resolves once the chunk has been accepted, cannot be accepted (the stream's `error` event says why), or on abort. */
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
