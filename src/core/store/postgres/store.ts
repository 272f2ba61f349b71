import type { StoreAdmin } from '../store.ts'
import { parsePostgresAddress } from './address.ts'
import { backupAdvice } from './admin/backup.ts'
import { distribute } from './admin/distribute.ts'
import { checkPostgres, hasPostgresWriter, inspectPostgres } from './admin/inspect.ts'
import { migrate, refuseOutdated, schemaVersionOf } from './admin/migrate.ts'
import { loadDriver } from './connection/driver.ts'
import { openPostgresReader } from './reader.ts'
import { openPostgresTableReader } from './tables.ts'
import { openPostgresUpkeep } from './upkeep.ts'
import { openPostgresWriter } from './writer.ts'

/** A store in a schema of a PostgreSQL database. */
export function postgresStore(text: string): StoreAdmin {
  const address = parsePostgresAddress(text)
  return {
    name: address.name,
    publicName: address.publicName,
    isEmbedded: false,
    wal: null,
    load: async () => {
      await loadDriver()
    },
    hasWriter: async () => hasPostgresWriter(address),
    openWriter: async (options = {}) => {
      await migrate(address, options.onNotice)
      return openPostgresWriter(address, options)
    },
    openReader: async (options) => openPostgresReader(address, options),
    schemaVersion: async () => schemaVersionOf(address),
    migrate: async (onNotice) => migrate(address, onNotice),
    distribute: async (onNotice) => distribute(address, onNotice),
    openTableReader: async () => {
      await refuseOutdated(address)
      return openPostgresTableReader(address)
    },
    openUpkeep: async () => {
      await refuseOutdated(address)
      return openPostgresUpkeep(address)
    },
    inspect: async () => inspectPostgres(address),
    checkDatabase: async () => checkPostgres(address),
    backupAdvice: async (file) => backupAdvice(address, file),
  }
}
