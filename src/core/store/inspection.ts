/** Facts about a store that do not depend on its rows. */
export type StoreFacts = {
  kind: 'sqlite' | 'postgres'
  /** Bytes on disk, including indexes and logs. */
  bytes: number
  schemaVersion: number
  /** The schema version to which this program upgrades a store. */
  programSchemaVersion: number
  /** Whether a writer is connected. Null if unknown: for a replica, and for a file whose lock this user may not read. */
  hasWriter: boolean | null
  /** The writer; null if there is none, or it is unknown. */
  writer: WriterProcess | null
  /** Faults of the cluster, if the tables are distributed over one and there are any. */
  cluster?: ClusterFaults
}

/**
 * The process of the store's writer, for operators: its host and process id. For PostgreSQL, the address from which it
 * connects, and the server's process for it.
 */
export type WriterProcess = { host: string; process: number }

export type ClusterFaults = {
  /** Tables that should be distributed but are not, for example after a restore. */
  localTables: string[]
  workersDown: { node: number; address: string }[]
}

/** One line for each fault. Addresses are meant for operators only. */
export function describeCluster(
  { localTables, workersDown }: ClusterFaults,
  { withAddresses }: { withAddresses: boolean },
): string[] {
  const tables = `not distributed: ${localTables.join(', ')}; stop every service of this store and run lyra migrate --citus`
  return [
    ...(localTables.length === 0 ? [] : [tables]),
    ...workersDown.map(({ node, address }) => {
      const worker = withAddresses ? `worker ${node} (${address})` : `worker ${node}`
      return `${worker} cannot be reached: its markets can be neither read nor written`
    }),
  ]
}

/** A database's own report on its files, tables and indexes. */
export type DatabaseCheck = {
  /** One line per problem. */
  problems: string[]
  /** The parts that could not be checked, with reasons. */
  notes: string[]
}

export type BackupOptions = {
  /** Replaces an existing file. */
  force?: boolean
  signal?: AbortSignal
  onProgress?: (progress: { donePages: number; totalPages: number }) => void
}
