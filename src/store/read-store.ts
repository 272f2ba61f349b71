import { withOpen } from '../with-open.ts'
import type { Reading } from './pages/page.ts'
import type { Store, StoreTraits } from './store.ts'

/** Opens a store for one reading. */
export function readStore<T>(store: Store, reading: (traits: StoreTraits) => Reading<T>): Promise<T> {
  return withOpen(store.openReader(), (reader) => reader.read(reading))
}
