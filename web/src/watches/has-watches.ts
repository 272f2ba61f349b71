import { signal } from '@preact/signals'

/** Where this browser keeps what is watched. */
export const WATCHES_KEY = 'lyra-watches'

/** Whether anything is watched: the code that watches is loaded only then. */
export const hasWatches = signal(isStored())

// Another tab has added the first watch, or removed the last one.
addEventListener('storage', () => {
  hasWatches.value = isStored()
})

function isStored(): boolean {
  try {
    return localStorage.getItem(WATCHES_KEY) !== null
  } catch {
    return false
  }
}
