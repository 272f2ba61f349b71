import type { Store } from '../store.ts'
import { parsePostgresAddress } from './address.ts'
import { backupPostgres } from './backup.ts'
import { distribute } from './distribute.ts'
import { checkPostgres, inspectPostgres } from './inspect.ts'
import { migrate, refuseOutdated, schemaVersionOf } from './migrate.ts'
import { openPostgresPruner } from './pruner.ts'
import { openPostgresReader } from './reader.ts'
import { openPostgresTableReader, openPostgresTableWriter } from './tables.ts'
import { openPostgresWriter } from './writer.ts'

/** The store in a schema of a PostgreSQL database. */
export function postgresStore(text: string): Store {
  const address = parsePostgresAddress(text)
  return {
    name: address.name,
    isEmbedded: false,
    log: null,
    openWriter: async (options = {}) => {
      await migrate(address, options.onNotice)
      return openPostgresWriter(address, options)
    },
    openReader: async () => openPostgresReader(address),
    schemaVersion: () => schemaVersionOf(address),
    migrate: (onNotice) => migrate(address, onNotice),
    distribute: () => distribute(address),
    openTableReader: async () => {
      await refuseOutdated(address)
      return openPostgresTableReader(address)
    },
    openTableWriter: async () => {
      await refuseOutdated(address)
      return openPostgresTableWriter(address)
    },
    openPruner: async () => {
      await refuseOutdated(address)
      return openPostgresPruner(address)
    },
    inspect: () => inspectPostgres(address),
    checkDatabase: () => checkPostgres(address),
    backup: async (file) => backupPostgres(address, file),
  }
}
