import { withOpen } from '../concurrency/with-open.ts'
import type { Query } from './queries-protocol.ts'
import type { Snapshot, Store } from './store.ts'

/** Opens a snapshot of a store, uses it, and closes it in any case. */
export function withSnapshot<T>(store: Store, use: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return withOpen(store.openReader(), (reader) => withOpen(reader.openSnapshot(), use))
}

/** Opens a store for one query, and closes it. */
export function readStore<T>(store: Store, query: () => Query<T>): Promise<T> {
  return withOpen(store.openReader(), (reader) => reader.read(query))
}
