import type { Duplex } from 'node:stream'

/** Bytes that are kept for all clients together. */
const MAX_BACKLOG_BYTES = 32 * 1024 * 1024

/** What is kept in memory for clients: answers that they have not taken yet, requests that they sent ahead. */
export type Backlog = {
  /**
   * Counts bytes that are kept for a connection, until the function returned is called. Where that makes too
   * many in all, the connections for which bytes have been kept longest are closed: those that do not read.
   */
  hold(connection: Duplex, bytes: number): () => void
}

export function createBacklog(maxBytes = MAX_BACKLOG_BYTES): Backlog {
  const entries = new Set<{ connection: Duplex; bytes: number }>()
  let total = 0
  return {
    hold: (connection, bytes) => {
      const added = { connection, bytes }
      entries.add(added)
      total += bytes
      for (const oldest of entries) {
        if (total <= maxBytes || oldest === added) break
        entries.delete(oldest)
        total -= oldest.bytes
        oldest.connection.destroy()
      }
      return () => {
        if (entries.delete(added)) total -= bytes
      }
    },
  }
}
