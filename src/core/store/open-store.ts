import { StoreError } from './errors.ts'
import { isPostgresAddress } from './postgres/address.ts'
import type { StoreAdmin } from './store.ts'

/** Opens a store by name: the path of a SQLite file, or a PostgreSQL address. Only that database's modules are loaded. */
export async function findStore(name: string): Promise<StoreAdmin> {
  if (name === '') throw new StoreError('the store has no name; give a path with --store')
  if (isPostgresAddress(name)) {
    const { postgresStore } = await import('./postgres/store.ts')
    return postgresStore(name)
  }
  const { sqliteStore } = await import('./sqlite/store.ts')
  return sqliteStore(name)
}
