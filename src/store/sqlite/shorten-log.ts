import type { StoreLog } from '../store.ts'
import { Connection } from './connection.ts'
import { logBytes } from './log-check.ts'

/** A log of this size is left to the writer, which empties it while it writes. */
const LEFT_TO_WRITER_BYTES = 8 * 1024 * 1024

/** The log beside a store's file. */
export function sqliteLog(path: string): StoreLog {
  return { bytes: () => logBytes(path), shorten: () => shortenLog(path) }
}

/**
 * Copies a log to its file and empties it, if it has grown while someone read an old snapshot: who has read last
 * does, for the writer may have nothing more to write. If another one reads still, or the file cannot be written
 * to from here, it stays as it is.
 */
export function shortenLog(path: string): void {
  if (logBytes(path) <= LEFT_TO_WRITER_BYTES) return
  try {
    const connection = Connection.openForWriting(path)
    try {
      // Most of it is copied without keeping the writer waiting.
      connection.copyLog()
      connection.truncateLog()
    } finally {
      connection.close()
    }
  } catch {
    // The next one who has read tries again, and the writer does.
  }
}
