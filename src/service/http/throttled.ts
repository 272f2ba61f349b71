import { setTimeout as sleep } from 'node:timers/promises'

/** Of the time at most one part in so many goes into the work. */
const REST = 5

/**
 * Runs `work` one at a time, and rests after it for some times as long as it took: work that anyone may ask for as
 * often as he likes, and that keeps this thread from everything else. Who asks meanwhile shares the next run.
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
