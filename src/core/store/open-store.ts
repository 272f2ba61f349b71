import { StoreError } from './errors.ts'
import { isPostgresAddress } from './postgres/address.ts'
import { postgresStore } from './postgres/store.ts'
import { sqliteStore } from './sqlite/store.ts'
import type { StoreAdmin } from './store.ts'

/** Opens a store by name: the path of a SQLite file, or a PostgreSQL address. */
export function findStore(name: string): StoreAdmin {
  if (name === '') throw new StoreError('the store has no name; give a path with --store')
  return isPostgresAddress(name) ? postgresStore(name) : sqliteStore(name)
}
