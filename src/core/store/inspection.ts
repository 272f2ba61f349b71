/** Facts about a store that do not depend on its rows. */
export type StoreFacts = {
  kind: 'sqlite' | 'postgres'
  /** Bytes on disk, including indexes and logs. */
  bytes: number
  schemaVersion: number
  /** The version that this program upgrades a store to. */
  programSchemaVersion: number
  /** Whether a writer is connected; null if that is not known: of a replica, and of a file whose lock this user may not read. */
  hasWriter: boolean | null
  /** The writer, as far as it is known; null if there is none, or none is known. */
  writer: WriterProcess | null
  /** Faults of the cluster that the tables are distributed over; absent if there are none. */
  cluster?: ClusterFaults
}

/**
 * The process that is the store's writer, for operators: its host, and its id. Of PostgreSQL, the address that it connects from, and
 * the server's process for it.
 */
export type WriterProcess = { host: string; process: number }

export type ClusterFaults = {
  /** Tables that should be distributed and are not, as after a restore. */
  localTables: string[]
  workersDown: { node: number; address: string }[]
}

/** One line for each fault; addresses are for operators alone. */
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
