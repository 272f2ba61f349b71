import { withOpen } from '../concurrency/with-open.ts'
import type { Reading } from './pages/page.ts'
import type { Snapshot, Store } from './store.ts'

/** Opens one snapshot of a store, and closes it whatever happens meanwhile. */
export function withSnapshot<T>(store: Store, use: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return withOpen(store.openReader(), (reader) => withOpen(reader.openSnapshot(), use))
}

/** Opens a store for one reading. */
export function readStore<T>(store: Store, reading: () => Reading<T>): Promise<T> {
  return withOpen(store.openReader(), (reader) => reader.read(reading))
}
