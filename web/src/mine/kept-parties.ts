import { effect, signal } from '@preact/signals'

/** A party that the reader keeps in this browser, with the name that they gave it; an empty one if none. */
export type KeptParty = { id: string; name: string }

const KEY = 'lyra-parties'

/** More would be a page of requests for each block. */
export const MOST_KEPT = 12

const MAX_NAME = 40

const PARTY = /^[0-9a-f]{64}$/

/** The kept parties, in the order in which they were kept. Nobody but this browser knows of them. */
export const keptParties = signal<readonly KeptParty[]>(stored())

/** The name of a kept party; null if it is not kept, or has none. */
export function nameOfParty(id: string): string | null {
  return keptParties.value.find((party) => party.id === id)?.name || null
}

/** Whether one more may be kept. */
export const mayKeepMore = (): boolean => keptParties.value.length < MOST_KEPT

/** Keeps a party by a name, or gives a kept one another name. */
export function keepParty(id: string, name: string): void {
  const party = { id, name: name.trim().slice(0, MAX_NAME) }
  const others = keptParties.value
  keptParties.value = others.some((one) => one.id === id)
    ? others.map((one) => (one.id === id ? party : one))
    : [...others, party].slice(0, MOST_KEPT)
}

export function forgetParty(id: string): void {
  keptParties.value = keptParties.value.filter((party) => party.id !== id)
}

effect(() => {
  const parties = keptParties.value
  try {
    if (parties.length === 0) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, JSON.stringify(parties))
  } catch {
    // Without storage they are kept as long as the page.
  }
})

// Another tab of this browser has changed them.
addEventListener('storage', ({ key }) => {
  if (key === KEY || key === null) keptParties.value = stored()
})

function stored(): readonly KeptParty[] {
  try {
    return readParties(localStorage.getItem(KEY))
  } catch {
    return []
  }
}

/** The parties in a stored text: what is none is left out. */
export function readParties(text: string | null): readonly KeptParty[] {
  let read: unknown
  try {
    read = JSON.parse(text ?? '[]')
  } catch {
    return []
  }
  if (!Array.isArray(read)) return []
  const parties = new Map<string, KeptParty>()
  for (const one of read as (Partial<Record<keyof KeptParty, unknown>> | null)[]) {
    const { id, name } = one ?? {}
    if (typeof id === 'string' && PARTY.test(id) && typeof name === 'string')
      parties.set(id, { id, name: name.slice(0, MAX_NAME) })
  }
  return [...parties.values()].slice(0, MOST_KEPT)
}
