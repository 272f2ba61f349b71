import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { Store } from '../store.ts'
import { Connection, explained } from './connection.ts'
import { sqliteLog } from './shorten-log.ts'

/** A store in one SQLite file. Modules are loaded when called: most starts need few of them. */
export function sqliteStore(path: string): Store {
  return {
    name: path,
    publicName: basename(path),
    isEmbedded: true,
    log: sqliteLog(path),
    openWriter: async (options) => (await import('./writer.ts')).openSqliteWriter(path, options),
    openReader: async (options) => (await import('./reader.ts')).openSqliteReader(path, options),
    schemaVersion: async () =>
      existsSync(path) ? explained(path, () => Connection.schemaVersionOf(path)) : 0,
    migrate: async (onNotice) => Connection.openMigrated(path, onNotice).close(),
    openTableReader: async () => (await import('./tables.ts')).openSqliteTableReader(path),
    openUpkeep: async () => (await import('./upkeep.ts')).openSqliteUpkeep(path),
    inspect: async () => (await import('./inspect.ts')).inspectSqlite(path),
    checkDatabase: async () => {
      const { checkSqlite } = await import('./inspect.ts')
      return explained(path, () => checkSqlite(path))
    },
    backup: async (file, options = {}) => (await import('./backup.ts')).backupSqlite(path, file, options),
  }
}
