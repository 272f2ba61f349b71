import { basename } from 'node:path'
import type { StoreAdmin } from '../store.ts'
import { backupSqlite } from './backup.ts'
import { withSqliteErrors } from './errors.ts'
import { checkSqlite, inspectSqlite } from './inspect.ts'
import { openMigrated, schemaVersionToWrite } from './migrate.ts'
import { openSqliteReader } from './reader.ts'
import { sqliteWal } from './shorten-wal.ts'
import { ifThere } from './store-file.ts'
import { openSqliteTableReader } from './tables.ts'
import { openSqliteUpkeep } from './upkeep.ts'
import { openSqliteWriter } from './writer.ts'
import { isLocked } from './writer-lock.ts'

/** A store in one SQLite file. */
export function sqliteStore(path: string): StoreAdmin {
  return {
    name: path,
    publicName: basename(path),
    isEmbedded: true,
    wal: sqliteWal(path),
    hasWriter: async () => isLocked(path) === true,
    openWriter: (options) => openSqliteWriter(path, options),
    openReader: async (options) => openSqliteReader(path, options),
    schemaVersion: async () =>
      ifThere(
        path,
        () => withSqliteErrors(path, () => schemaVersionToWrite(path)),
        () => 0,
      ),
    migrate: async (onNotice) => openMigrated(path, onNotice).closeWritten(),
    openTableReader: async () => openSqliteTableReader(path),
    openUpkeep: async () => openSqliteUpkeep(path),
    inspect: async () => inspectSqlite(path),
    checkDatabase: async () => withSqliteErrors(path, () => checkSqlite(path)),
    backup: async (file, options = {}) => backupSqlite(path, file, options),
  }
}
