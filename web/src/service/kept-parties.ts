import { itemsIn, keptList } from './kept-list.ts'

/** A party that the reader keeps in this browser, with the name that they gave it; an empty one if none. */
export type KeptParty = { id: string; name: string }

/** More would be a page of requests for each block. */
export const MOST_KEPT = 12

const MAX_NAME = 40

const PARTY = /^[0-9a-f]{64}$/

/** The kept parties, in the order in which they were kept. Nobody but this browser knows of them. */
export const keptParties = keptList('lyra-parties', readParties)

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

/** The parties in a stored text: what is none is left out, and of two with one id the later one counts. */
export function readParties(text: string | null): readonly KeptParty[] {
  const read = itemsIn(text, ({ id, name }): KeptParty | null =>
    typeof id === 'string' && PARTY.test(id) && typeof name === 'string'
      ? { id, name: name.slice(0, MAX_NAME) }
      : null,
  )
  return [...new Map(read.map((party) => [party.id, party])).values()].slice(0, MOST_KEPT)
}
