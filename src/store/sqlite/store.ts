import { existsSync } from 'node:fs'
import { type Store, StoreError } from '../store.ts'
import { backupSqlite } from './backup.ts'
import { Connection, explained } from './connection.ts'
import { checkSqlite, inspectSqlite } from './inspect.ts'
import { openSqlitePruner } from './pruner.ts'
import { openSqliteReader } from './reader.ts'
import { sqliteLog } from './shorten-log.ts'
import { openSqliteTableReader, openSqliteTableWriter } from './tables.ts'
import { openSqliteWriter } from './writer.ts'

/** The store in one SQLite file. */
export function sqliteStore(path: string): Store {
  return {
    name: path,
    isEmbedded: true,
    log: sqliteLog(path),
    openWriter: async (options) => openSqliteWriter(path, options),
    openReader: async (options) => openSqliteReader(path, options),
    schemaVersion: async () =>
      existsSync(path) ? explained(path, () => Connection.schemaVersionOf(path)) : 0,
    migrate: async (onNotice) => Connection.openMigrated(path, onNotice).close(),
    distribute: async () => {
      throw new StoreError(`${path}: a SQLite file cannot be spread over machines; --citus is for PostgreSQL`)
    },
    openTableReader: async () => openSqliteTableReader(path),
    openTableWriter: async () => openSqliteTableWriter(path),
    openPruner: async () => openSqlitePruner(path),
    inspect: async () => inspectSqlite(path),
    checkDatabase: async () => explained(path, () => checkSqlite(path)),
    backup: (file, options = {}) => backupSqlite(path, file, options),
  }
}
