import type { Store } from '../store.ts'
import { parsePostgresAddress } from './address.ts'

/** A store in a schema of a PostgreSQL database. Modules are loaded when called: most starts need few of them. */
export function postgresStore(text: string): Store {
  const address = parsePostgresAddress(text)
  /** Refuses a schema that is not the program's. */
  const refuseOutdated = async () => (await import('./migrate.ts')).refuseOutdated(address)
  return {
    name: address.name,
    publicName: address.publicName,
    isEmbedded: false,
    log: null,
    openWriter: async (options = {}) => {
      await (await import('./migrate.ts')).migrate(address, options.onNotice)
      return (await import('./writer.ts')).openPostgresWriter(address, options)
    },
    openReader: async (options) => (await import('./reader.ts')).openPostgresReader(address, options),
    schemaVersion: async () => (await import('./migrate.ts')).schemaVersionOf(address),
    migrate: async (onNotice) => (await import('./migrate.ts')).migrate(address, onNotice),
    distribute: async () => (await import('./distribute.ts')).distribute(address),
    openTableReader: async () => {
      await refuseOutdated()
      return (await import('./tables.ts')).openPostgresTableReader(address)
    },
    openUpkeep: async () => {
      await refuseOutdated()
      return (await import('./upkeep.ts')).openPostgresUpkeep(address)
    },
    inspect: async () => (await import('./inspect.ts')).inspectPostgres(address),
    checkDatabase: async () => (await import('./inspect.ts')).checkPostgres(address),
    backupAdvice: async (file) => (await import('./backup.ts')).backupAdvice(address, file),
  }
}
