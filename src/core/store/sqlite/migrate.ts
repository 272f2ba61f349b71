import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { StoreError } from '../errors.ts'
import { completeUpgrade, computesSeries, newestVersion, stepsFrom } from '../schema-version.ts'
import { Connection } from './connection.ts'
import { SQLITE_READONLY_ROLLBACK, type SqliteError } from './errors.ts'
import { openConnection } from './open-connection.ts'
import { runSqliteMutation } from './run-sql.ts'
import { APPLICATION_ID, SQLITE_SCHEMA } from './schema.ts'

/** The space that a change of the schema needs in any case: for new tables, and the pages of the schema. */
const LEAST_MIGRATION_BYTES = 1024 * 1024

/**
 * An upper estimate of the half-minute buckets of all series: not more than there are points, nor than there is time for.
 */
const COUNT_BUCKETS = `
  select coalesce(sum(min(points, 3 * (last_timestamp / 30000000000 - first_timestamp / 30000000000 + 1))), 0)
  from funding_period_spans`

/** Bytes of series for each of them. This includes the longer buckets, which are as many again if points are rare. */
const SERIES_BYTES = 320

/**
 * Opens a store for writing, and creates it or upgrades its schema if necessary.
 *
 * @throws {StoreError} as `openForWriting` (open-connection.ts), and if the disk has too little free space.
 */
export function openMigrated(path: string, onNotice: (message: string) => void = () => {}): Connection {
  return openConnection(path, { mayCreate: true }, (connection) => migrate(connection, onNotice))
}

/**
 * Creates a store in a new file, for this connection alone. The file may then lose its name. It need not survive a crash,
 * so there is no journal.
 */
export function openAlone(path: string): Connection {
  return openConnection(path, { mayCreate: true, isAlone: true }, (connection) => {
    migrate(connection, () => {})
    connection.exec('pragma journal_mode = memory; pragma synchronous = off')
  })
}

/** The schema version of a file; 0 for an empty one. */
export function schemaVersionIn(path: string, readOnly = true): number {
  using connection = new Connection(path, { readOnly })
  return connection.schemaVersion()
}

/**
 * As {@link schemaVersionIn}, for a file that is going to be written to: an interrupted change is undone first, as by every
 * writer.
 */
export function schemaVersionToWrite(path: string): number {
  try {
    return schemaVersionIn(path)
  } catch (error) {
    if ((error as SqliteError).errcode !== SQLITE_READONLY_ROLLBACK) throw error
    return schemaVersionIn(path, false)
  }
}

function migrate(connection: Connection, onNotice: (message: string) => void): void {
  const version = connection.schemaVersion()
  if (version === newestVersion(SQLITE_SCHEMA)) return
  if (version === 0) connection.exec('pragma journal_mode = wal')
  else refuseFullDisk(connection, version)
  connection.transaction('immediate', () => {
    // Another process may have done it while this one waited for the lock.
    const from = connection.schemaVersion()
    for (const step of stepsFrom(SQLITE_SCHEMA, from)) connection.exec(step)
    runSqliteMutation(connection, completeUpgrade(SQLITE_SCHEMA, from, onNotice))
    connection.exec(
      `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${newestVersion(SQLITE_SCHEMA)}`,
    )
  })
  connection.truncateWal()
}

/**
 * Refuses an upgrade without enough free space. Its steps run in one transaction, until whose end the WAL gets a copy of
 * every changed page.
 */
function refuseFullDisk(connection: Connection, version: number): void {
  const { path } = connection
  const folder = dirname(path)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  // An upper estimate of how much the WAL may grow, mostly because of series.
  const [buckets] = computesSeries(SQLITE_SCHEMA, version) ? connection.row(COUNT_BUCKETS)! : [0]
  const needed = LEAST_MIGRATION_BYTES + Number(buckets) * SERIES_BYTES
  if (free >= needed) return
  throw new StoreError(
    `${path}: upgrading its schema from version ${version} to ${newestVersion(SQLITE_SCHEMA)} may need ${needed} bytes of disk ` +
      `for its write-ahead log, but ${folder} has ${free} free; nothing was changed. Free disk space there and run lyra migrate again`,
  )
}
