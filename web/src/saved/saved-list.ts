import { effect, type Signal, signal } from '@preact/signals'

/**
 * A list that is saved in this browser, and that all its tabs share. Without storage it lasts as long as the page.
 *
 * @param read the list in a stored text, whatever that is; null if none is stored
 */
export function savedList<Item>(
  key: string,
  read: (text: string | null) => readonly Item[],
): Signal<readonly Item[]> {
  const stored = () => {
    try {
      return read(localStorage.getItem(key))
    } catch {
      return []
    }
  }
  const list = signal(stored())
  effect(() => {
    try {
      if (list.value.length === 0) localStorage.removeItem(key)
      else localStorage.setItem(key, JSON.stringify(list.value))
    } catch {
      // There is no storage.
    }
  })
  // Another tab has changed it.
  addEventListener('storage', (event) => {
    if (event.key === key || event.key === null) list.value = stored()
  })
  return list
}

/** The items in a stored text. Anything else in it is left out: `itemOf` returns null for it. */
export function itemsIn<Item>(
  text: string | null,
  itemOf: (stored: Readonly<Record<string, unknown>>) => Item | null,
): Item[] {
  let read: unknown
  try {
    read = JSON.parse(text ?? '[]')
  } catch {
    return []
  }
  return Array.isArray(read) ? read.flatMap((stored) => itemOf(stored ?? {}) ?? []) : []
}
