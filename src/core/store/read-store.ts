import { withOpen } from '../concurrency/with-open.ts'
import type { Query } from './pages/page.ts'
import type { Snapshot, Store } from './store.ts'

/** Opens one snapshot of a store, and closes it whatever happens meanwhile. */
export function withSnapshot<T>(store: Store, use: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return withOpen(store.openReader(), (reader) => withOpen(reader.openSnapshot(), use))
}

/** Opens a store for one query. */
export function readStore<T>(store: Store, query: () => Query<T>): Promise<T> {
  return withOpen(store.openReader(), (reader) => reader.read(query))
}
