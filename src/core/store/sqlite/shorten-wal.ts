import type { StoreWal } from '../store.ts'
import { openForWriting } from './open-connection.ts'
import { walBytes } from './wal-check.ts'

/** A WAL of this size is left to the writer, which empties it while it writes. */
const LEFT_TO_WRITER_BYTES = 8 * 1024 * 1024

/** The WAL beside a store's file. */
export function sqliteWal(path: string): StoreWal {
  return { bytes: () => walBytes(path), shorten: () => shortenWal(path) }
}

/**
 * Copies a WAL that has grown during an old snapshot to its file, and empties it. The last reader does so, because the
 * writer may have nothing more to write. The WAL stays if another reader is still active, or if the file is not writable
 * for this user.
 */
export function shortenWal(path: string): void {
  if (walBytes(path) <= LEFT_TO_WRITER_BYTES) return
  try {
    using connection = openForWriting(path)
    // Copies most pages without blocking the writer.
    connection.copyWal()
    connection.truncateWal()
  } catch {
    // The next reader to end tries again, and so does the writer.
  }
}
