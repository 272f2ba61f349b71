/** What a store is by itself, whatever it holds. */
export type StoreFacts = {
  kind: 'sqlite' | 'postgres'
  /** Bytes on disk, indexes and logs with them. */
  bytes: number
  schemaVersion: number
  /** The version that this program brings a store to. */
  programSchemaVersion: number
  /** Whether a writer is at work; null where the store does not show it. */
  hasWriter: boolean | null
}

/** What a database reports about the soundness of its own files, tables and indexes. */
export type DatabaseCheck = {
  /** What is wrong, each in one line. */
  problems: string[]
  /** What could not be looked at, and why. */
  notes: string[]
}

export type BackupOptions = {
  /** Replaces a file that is there. */
  force?: boolean
  signal?: AbortSignal
  onProgress?: (progress: { donePages: number; totalPages: number }) => void
}
