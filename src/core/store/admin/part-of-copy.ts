import { STORED } from '../../resources/stored.ts'
import { StoreError } from '../errors.ts'
import { readStoreHead } from '../queries/coverage.ts'
import type { Query } from '../queries-protocol.ts'

/** Of an empty store alone: on a cluster it asks every machine. */
const FIND_ANY_ROW = `
  select 1 where (${STORED.flatMap(({ tables }) => tables.map(({ name }) => `exists (select 1 from ${name})`)).join(' or ')})`

/**
 * Refuses to continue a store that has rows but no store head, as an interrupted copy leaves it: what is calculated from rows
 * may be missing beside them, and would never be written. To be asked once a cluster has published the last commit, whose rows come
 * before its head.
 *
 * @throws {StoreError} for such a store.
 */
export function* refusePartOfCopy(store: string): Query<void> {
  if ((yield* readStoreHead()) !== null || (yield { text: FIND_ANY_ROW }).length === 0) return
  throw new StoreError(
    `${store}: contains only a part of another store, because lyra copy was interrupted; run it again, or begin with a new store`,
  )
}
