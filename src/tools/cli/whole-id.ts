import { ASSET_ID, ID_PREFIX, MARKET_ID, PARTY_ID } from '#core/domain/ids'
import { StoreError } from '#core/store/errors'
import { findIds, type IdKind } from '#core/store/queries/contents/ids'
import { readStore } from '#core/store/read-store'
import type { Store } from '#core/store/store'
import { InvalidSettingError } from './options.ts'

const WHOLE: Readonly<Record<IdKind, RegExp>> = { market: MARKET_ID, asset: ASSET_ID, party: PARTY_ID }

/**
 * Completes an id. Returns a complete id as it is, and for a prefix the only id of the store that begins with it.
 *
 * @throws {InvalidSettingError} for a text that is neither
 * @throws {StoreError} if no id matches, or several do
 */
export async function wholeId(store: Store, kind: IdKind, given: string): Promise<string> {
  if (WHOLE[kind].test(given)) return given
  if (!ID_PREFIX.test(given))
    throw new InvalidSettingError(`--${kind} ${given} must be hex digits: an id, or its first digits`)
  const [id, other] = await readStore(store, () => findIds(kind, given.toLowerCase()))
  if (id === undefined) {
    const hint = kind === 'market' ? '; lyra status lists the markets' : ''
    throw new StoreError(`--${kind} ${given}: no ${kind} id of ${store.name} starts with it${hint}`)
  }
  if (other !== undefined) {
    throw new StoreError(`--${kind} ${given} is ambiguous: it matches ${id} and ${other}; give more digits`)
  }
  return id
}
