import { setTimeout as sleep } from 'node:timers/promises'

/** The work may take at most 1/REST of the time. */
const REST = 5

/**
 * Limits expensive work that any client can trigger. Runs it one at a time, with a pause after it that is several times as
 * long. Callers during a pause share the next run.
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
      last = result.then(
        () => sleep((performance.now() - since) * (REST - 1), undefined, { ref: false }),
        () => {},
      )
      return result
    })
    next = run
    return run
  }
}
