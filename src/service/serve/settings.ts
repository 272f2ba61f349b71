import type { LogRetention } from '#core/log/retention'
import type { CorsOrigins } from '../http/cors.ts'

/** The settings of `lyra serve`. */
export type ServeSettings = {
  store: string
  host: string
  port: number
  /** Address of the gRPC server; null if gRPC is off. */
  grpc: { host: string; port: number } | null
  corsOrigin: CorsOrigins
  rateLimit: number | null
  trustProxy: boolean
  /** Memory for cached answers, in MiB; 0 for none. */
  cacheMb: number
  /** Whether figures of markets are given to Prometheus. */
  marketMetrics: boolean
  allowGap: boolean
  strict: boolean
  logLevel: string
  /** Address on which to wait for a core to connect; null if no core is waited for. */
  listen: { host: string; port: number } | null
  /** Addresses and networks that a core may connect from; empty for any. */
  listenFrom: string[]
  /** The chain that a core's events must be of; null for that of the store, or of the first whole block. */
  chain: string | null
  /** Folder of the event log that the core's events are written to. */
  eventLog: string
  /** How much of the event log is kept although no store needs it; null for the default, once a store has read it. */
  eventLogKeep: LogRetention | null
  /** The mode of the event log's files; null for this user only. */
  eventLogMode: number | null
  /** Folders and URLs of event logs that other receivers write. */
  follow: string[]
  /** The store's name among the readers of the event logs; null for one made from its address. */
  reader: string | null
  /** Folder of events that a version before 0.3 has received, to be moved to the event log; null for none. */
  buffer: string | null
  /** Receiver of forwarded events; null for none. */
  forward: { host: string; port: number } | null
  /** Maximum age of the last block, seconds; null for any. */
  maxBehind: number | null
  /** How much older than the last block rows may get before they are pruned, nanoseconds; null for any. */
  keep: bigint | null
  /** Event files to ingest while the service answers. */
  paths: string[]
}

/** Whether a service only reads its store: it neither ingests nor prunes, and opens nothing for writing. */
export function isReader({ listen, follow, keep, paths }: ServeSettings): boolean {
  return listen === null && follow.length === 0 && keep === null && paths.length === 0
}
