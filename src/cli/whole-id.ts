import { ID_PREFIX } from '../domain/ids.ts'
import { readStore } from '../store/read-store.ts'
import { findIds, type IdKind } from '../store/readings/ids.ts'
import { type Store, StoreError } from '../store/store.ts'

/**
 * Completes an id: returns a complete id as given, or the only id of the store with the given prefix. A text that
 * cannot be a prefix is returned unchanged, to be refused like any other value.
 *
 * @throws {StoreError} if no id matches, or several do
 */
export async function wholeId(store: Store, kind: IdKind, given: string): Promise<string> {
  if (!ID_PREFIX.test(given)) return given
  const [id, other] = await readStore(store, () => findIds(kind, given.toLowerCase()))
  if (id === undefined) {
    throw new StoreError(
      `--${kind} ${given}: no ${kind} id of ${store.name} starts with it; lyra status lists the markets`,
    )
  }
  if (other !== undefined) {
    throw new StoreError(`--${kind} ${given} is ambiguous: it matches ${id} and ${other}; give more digits`)
  }
  return id
}
