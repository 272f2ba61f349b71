/** Limits of all clients together (docs/limits.md), for each process that answers. */
export type Limits = {
  /** Connections. */
  connections: number
  /** Exports in progress: each has a snapshot, which makes the database retain replaced rows. */
  exports: number
  /** Exports in progress of a database server, where each uses a connection. */
  serverExports: number
  /** Streams. */
  streams: number
  /** Different selections that streams follow: each of these is read once for each commit. */
  selections: number
  /** How fast the client of an export must read: the least bytes a second, on average over these seconds. */
  exportPace: { bytesPerSecond: number; seconds: number }
  /** Temporary files of exports: bytes of one, and how many with how many bytes there may be at a time. */
  exportFiles: { bytes: number; files: number; allBytes: number }
  /** Series of market metrics: with more, liquidity providers have none. */
  marketSeries: number
}

export const LIMITS: Limits = {
  connections: 4_096,
  exports: 64,
  serverExports: 16,
  streams: 2_048,
  selections: 256,
  exportPace: { bytesPerSecond: 16 * 1024, seconds: 60 },
  exportFiles: { bytes: 64 * 1024 * 1024, files: 64, allBytes: 1024 * 1024 * 1024 },
  marketSeries: 20_000,
}
