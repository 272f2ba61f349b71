import { itemsIn, savedList } from './saved-list.ts'

/** A party that the reader has saved in this browser, with the name that they gave it; an empty one if none. */
export type SavedParty = { id: string; name: string }

/** More would be a page of requests for each block. */
export const MOST_SAVED = 12

/** Characters of a name at most. */
export const MAX_NAME = 40

const PARTY = /^[0-9a-f]{64}$/

/** The saved parties, in the order in which they were saved. Nobody but this browser knows of them. */
export const savedParties = savedList('lyra-parties', readParties)

/** The name of a saved party; null if it is not saved, or has none. */
export function nameOfParty(id: string): string | null {
  return savedParties.value.find((party) => party.id === id)?.name || null
}

/** Whether one more may be saved. */
export const maySaveMore = (): boolean => savedParties.value.length < MOST_SAVED

/** Saves a party by a name, or gives a saved one another name. */
export function saveParty(id: string, name: string): void {
  const party = { id, name: name.trim().slice(0, MAX_NAME) }
  const others = savedParties.value
  savedParties.value = others.some((one) => one.id === id)
    ? others.map((one) => (one.id === id ? party : one))
    : [...others, party].slice(0, MOST_SAVED)
}

export function forgetParty(id: string): void {
  savedParties.value = savedParties.value.filter((party) => party.id !== id)
}

/** The parties in a stored text. Anything else in it is left out, and of two with one id the later one counts. */
export function readParties(text: string | null): readonly SavedParty[] {
  const read = itemsIn(text, ({ id, name }): SavedParty | null =>
    typeof id === 'string' && PARTY.test(id) && typeof name === 'string'
      ? { id, name: name.slice(0, MAX_NAME) }
      : null,
  )
  return [...new Map(read.map((party) => [party.id, party])).values()].slice(0, MOST_SAVED)
}
