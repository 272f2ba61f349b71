import type { StoreLog } from '../store.ts'
import { openForWriting } from './connection.ts'
import { logBytes } from './log-check.ts'

/** A log of this size is left to the writer, which empties it while it writes. */
const LEFT_TO_WRITER_BYTES = 8 * 1024 * 1024

/** The log beside a store's file. */
export function sqliteLog(path: string): StoreLog {
  return { bytes: () => logBytes(path), shorten: () => shortenLog(path) }
}

/**
 * Copies a WAL that grew during an old snapshot to its file and empties it. The last reader does so, since the writer
 * may have nothing more to write. If another reader is still active, or the file is not writable here, the WAL stays.
 */
export function shortenLog(path: string): void {
  if (logBytes(path) <= LEFT_TO_WRITER_BYTES) return
  try {
    using connection = openForWriting(path)
    // Copies most frames without blocking the writer.
    connection.copyLog()
    connection.truncateLog()
  } catch {
    // The next one who has read tries again, and the writer does.
  }
}
