import { computed, signal } from '@preact/signals'
import { savedParties } from './saved/saved-parties.ts'

export const VIEWS = ['markets', 'funding', 'providers', 'party', 'checkpoints', 'node'] as const

/** A view of the explorer. */
export type View = (typeof VIEWS)[number]

/** The state of a view: parameters of its URL, in which null and undefined are left out. */
export type Params = Record<string, string | null | undefined>

const query = signal(new URLSearchParams(location.search))

addEventListener('popstate', () => {
  query.value = new URLSearchParams(location.search)
})

/** The view of an address without any state: that of saved parties, if there are any. */
const startView = (): View => (savedParties.value.length > 0 ? 'party' : 'markets')

export const view = computed<View>(() => {
  const named = query.value.get('view')
  return VIEWS.find((known) => known === named) ?? (query.value.size === 0 ? startView() : 'markets')
})

/** A part of the view's state; null if the URL does not name it. */
export function param(name: string): string | null {
  return query.value.get(name)
}

/** The URL of a view in a state. */
export function addressOf(view: View, params: Params = {}): string {
  const given = Object.entries(params).filter((entry): entry is [string, string] => entry[1] != null)
  return `/?${new URLSearchParams([['view', view], ...given])}`
}

/** Goes to a view, as a link to it does. */
export function goTo(view: View, params: Params = {}): void {
  go(addressOf(view, params), true)
  scrollTo(0, 0)
}

/**
 * Changes parts of the view's state; null takes one out. A change that "back" should take back is pushed to the
 * history, one that only follows what happens is not.
 */
export function setParams(changes: Params, { push = true }: { push?: boolean } = {}): void {
  const changed: Params = { ...Object.fromEntries(query.value), ...changes, view: null }
  const address = addressOf(view.value, changed)
  if (address !== `/?${query.value}`) go(address, push)
}

function go(address: string, push: boolean): void {
  if (push) history.pushState(null, '', address)
  else history.replaceState(null, '', address)
  query.value = new URLSearchParams(location.search)
}
