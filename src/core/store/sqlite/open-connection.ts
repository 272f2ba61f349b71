import { StoreError, StoreOutdatedError } from '../errors.ts'
import { Connection, type ConnectionMode } from './connection.ts'
import { withSqliteErrors } from './errors.ts'
import { ifThere } from './store-file.ts'

/** Memory for pages of the file. Mapping the file is not faster, and would kill the process if the file became shorter. */
const READER_CACHE_KIB = 4 * 1024

/** The fault of a missing file that is opened for reading. */
const NO_FILE = 'no such file; lyra migrate, lyra ingest and lyra serve --listen create it'

/** How a store is opened for reading. */
type ReadingOptions = {
  /** Memory for pages of the file. */
  cacheKib?: number
  /** Whether a store with an older schema is opened, too. */
  isOldAllowed?: boolean
  /** Maximum bytes of a text; `isTooLong` (errors.ts) recognises the error for a longer one. */
  maxTextBytes?: number
}

/**
 * Opens a store for reading.
 *
 * @throws {StoreError} for a file that is missing, is not Lyra's, or has another schema version.
 */
export function openForReading(
  path: string,
  { cacheKib = READER_CACHE_KIB, isOldAllowed = false, maxTextBytes }: ReadingOptions = {},
): Connection {
  const open = () =>
    openConnection(path, { readOnly: true, maxTextBytes }, (connection) => {
      connection.exec(`pragma cache_size = -${cacheKib}; pragma query_only = on`)
      if (!isOldAllowed || connection.schemaVersion() === 0) connection.refuseOutdated()
    })
  return ifThere(path, open, () => {
    throw new StoreOutdatedError(path, NO_FILE)
  })
}

/**
 * Opens an existing store for writing.
 *
 * @throws {StoreError} for a file that is missing, is not Lyra's, has another schema version, or cannot be written to.
 */
export function openForWriting(path: string): Connection {
  const open = () => openConnection(path, {}, (connection) => connection.refuseOutdated())
  return ifThere(path, open, () => {
    throw new StoreError(`${path}: no such file`)
  })
}

/** Opens a file in a mode. `prepare` then checks and sets what the caller needs; if it throws, the file is closed again. */
export function openConnection(
  path: string,
  mode: ConnectionMode,
  prepare: (connection: Connection) => void,
): Connection {
  return withSqliteErrors(path, () => {
    const connection = new Connection(path, mode)
    try {
      if (!mode.readOnly) connection.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0')
      prepare(connection)
      return connection
    } catch (error) {
      connection.close()
      // Without its file SQLite fails in many ways.
      if (!mode.readOnly) connection.refuseOtherFile()
      throw error
    }
  })
}
