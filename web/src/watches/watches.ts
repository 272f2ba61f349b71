import { effect, signal } from '@preact/signals'
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

export const watches = signal<readonly Watch[]>(stored())

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
  if ([...seen].length === 0) return
  watches.value = watches.value.map((one) => ({ ...one, seen: seen.get(keyOf(one)) ?? one.seen }))
}

effect(() => {
  const kept = watches.value
  hasWatches.value = kept.length > 0
  try {
    if (kept.length === 0) localStorage.removeItem(WATCHES_KEY)
    else localStorage.setItem(WATCHES_KEY, JSON.stringify(kept))
  } catch {
    // Without storage they last as long as the page.
  }
})

// Another tab of this browser has changed them, or has told of one.
addEventListener('storage', ({ key }) => {
  if (key === WATCHES_KEY || key === null) watches.value = stored()
})

function stored(): readonly Watch[] {
  try {
    return readWatches(localStorage.getItem(WATCHES_KEY))
  } catch {
    return []
  }
}

/** The watches in a stored text: what is none is left out. */
export function readWatches(text: string | null): readonly Watch[] {
  let read: unknown
  try {
    read = JSON.parse(text ?? '[]')
  } catch {
    return []
  }
  if (!Array.isArray(read)) return []
  return read
    .flatMap((one: Partial<Record<keyof Watch, unknown>> | null): Watch[] => {
      const { marketId, kind, value, partyId, seen } = one ?? {}
      const texts = [marketId, value, partyId, seen]
      if (!texts.every((cell): cell is string => typeof cell === 'string')) return []
      const watch = { marketId, kind, value, partyId, seen } as Watch
      return isWatch(watch) ? [watch] : []
    })
    .slice(0, MOST_WATCHES)
}

function isWatch({ marketId, kind, value, partyId }: Watch): boolean {
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
