import { signal } from '@preact/signals'

/** The time, milliseconds, every second. */
export const now = signal(Date.now())

setInterval(() => {
  now.value = Date.now()
}, 1_000)
