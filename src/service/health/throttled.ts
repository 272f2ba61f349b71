import { setTimeout as sleep } from 'node:timers/promises'

/** Least time from the start of one execution to that of the next, as a multiple of what the first has taken. */
const MIN_INTERVAL = 5

/**
 * Limits expensive work that any client can trigger: each execution, also one that fails, is followed by a pause that is four
 * times as long. Callers during an execution or pause share the next execution.
 */
export function throttled<T>(work: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | null = null
  return () => {
    if (next !== null) return next
    const run = last.then(() => {
      next = null
      const since = performance.now()
      const result = work()
      const pause = () => sleep((performance.now() - since) * (MIN_INTERVAL - 1), undefined, { ref: false })
      last = result.then(pause, pause)
      return result
    })
    next = run
    return run
  }
}
