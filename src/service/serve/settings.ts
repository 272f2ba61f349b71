import type { CorsOrigins } from '../http/cors.ts'

/** The settings of `lyra serve`. */
export type ServeSettings = {
  store: string
  host: string
  port: number
  /** Where to answer gRPC; null: nowhere. */
  grpc: { host: string; port: number } | null
  corsOrigin: CorsOrigins
  rateLimit: number | null
  trustProxy: boolean
  /** Memory for answers that may be asked for again, in MiB; 0 for none. */
  cacheMb: number
  allowGap: boolean
  strict: boolean
  logLevel: string
  /** Where to wait for a core that dials in; null: it is not waited for. */
  listen: { host: string; port: number } | null
  /** Addresses and networks that a core may dial in from; none: any. */
  listenFrom: string[]
  /** The chain that a core's events must be of; null: that of the store, or of the first whole block. */
  chain: string | null
  /** Folder of received events not yet committed. */
  buffer: string
  /** Whether committed events are kept, in the folder `archive` of the buffer. */
  keepBuffer: boolean
  /** Receiver of forwarded events; null: none. */
  forward: { host: string; port: number } | null
  /** Disk that events may take that are kept for that receiver, in MiB. */
  forwardMb: number
  /** Maximum age of the last block, seconds; null: any. */
  maxBehind: number | null
  /** How much older than the last block rows may get before they are pruned, nanoseconds; null: any. */
  keep: bigint | null
  /** Event files to ingest meanwhile. */
  paths: string[]
}

/** Whether a service only reads its store: it neither ingests nor prunes, and opens nothing for writing. */
export function isReader({ listen, keep, paths }: ServeSettings): boolean {
  return listen === null && keep === null && paths.length === 0
}
