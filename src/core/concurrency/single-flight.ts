/** Work that runs once at a time for all its callers. */
export type SingleFlight<T> = {
  /** The result of a run that starts after this call: callers during a run share the next one. */
  fresh(): Promise<T>
  /** The result of the run in progress, or of a new one if there is none. */
  current(): Promise<T>
  /** Waits until nothing runs, whether or not runs fail. */
  settled(): Promise<void>
  readonly isRunning: boolean
}

/**
 * Makes concurrent callers of `work` share its execution. If it fails, it fails for all of them, and the next call starts
 * anew.
 */
export function singleFlight<T>(work: () => Promise<T>): SingleFlight<T> {
  let running: Promise<T> | null = null
  let next: Promise<T> | null = null

  function current(): Promise<T> {
    running ??= work().finally(() => {
      running = null
    })
    return running
  }

  return {
    fresh: () => {
      if (running === null) return current()
      next ??= running
        .catch(() => {})
        .then(() => {
          next = null
          return current()
        })
      return next
    },
    current,
    settled: async () => {
      while (running !== null) await running.catch(() => {})
    },
    get isRunning() {
      return running !== null
    },
  }
}
