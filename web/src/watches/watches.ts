import { effect } from '@preact/signals'
import { itemsIn, savedList } from '../saved/saved-list.ts'
import { hasWatches, WATCHES_KEY } from './has-watches.ts'

/** What the reader wants to be notified of, in this browser and while a tab is open. */
export type Watch = {
  marketId: string
  /** The rate is above or below a value, in percent; it has changed its sign; a provider is below the minimum time on book. */
  kind: 'above' | 'below' | 'sign' | 'minimum'
  /** In percent, a decimal number; empty for other kinds. */
  value: string
  /** The provider; empty for rates. */
  partyId: string
  /** How it was when it was last seen, so that each change is told once; empty before. */
  seen: string
}

/** More cannot be told apart, and each provider is asked for. */
export const MOST_WATCHES = 20

const ID = /^[0-9a-f]{64}$/
const VALUE = /^-?\d{1,12}(\.\d{1,12})?$/

export const watches = savedList(WATCHES_KEY, readWatches)

/** Identifies a watch: there is one of each. */
export const keyOf = ({ marketId, kind, value, partyId }: Watch): string =>
  [kind, marketId, partyId, value].join(' ')

export function addWatch(watch: Omit<Watch, 'seen'>): void {
  const added = { ...watch, seen: '' }
  const others = watches.value.filter((one) => keyOf(one) !== keyOf(added))
  watches.value = [...others, added].slice(-MOST_WATCHES)
}

export function removeWatch(watch: Watch): void {
  watches.value = watches.value.filter((one) => keyOf(one) !== keyOf(watch))
}

/** Remembers how watches were seen. */
export function noteSeen(seen: ReadonlyMap<string, string>): void {
  if (seen.size === 0) return
  watches.value = watches.value.map((one) => ({ ...one, seen: seen.get(keyOf(one)) ?? one.seen }))
}

effect(() => {
  hasWatches.value = watches.value.length > 0
})

/** The watches in a stored text; anything else in it is left out. */
export function readWatches(text: string | null): readonly Watch[] {
  return itemsIn(text, ({ marketId, kind, value, partyId, seen }): Watch | null => {
    const areTexts = [marketId, value, partyId, seen].every((cell) => typeof cell === 'string')
    const watch = { marketId, kind, value, partyId, seen } as Watch
    return areTexts && isWatch(watch) ? watch : null
  }).slice(0, MOST_WATCHES)
}

/** Whether a market, a value and a party can be watched in this way. */
export function isWatch({ marketId, kind, value, partyId }: Omit<Watch, 'seen'>): boolean {
  if (!ID.test(marketId)) return false
  switch (kind) {
    case 'above':
    case 'below':
      return VALUE.test(value) && partyId === ''
    case 'sign':
      return value === '' && partyId === ''
    case 'minimum':
      return value === '' && ID.test(partyId)
    default:
      return false
  }
}
