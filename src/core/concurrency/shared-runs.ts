/** Runs of one piece of work, one at a time, for everybody who asks. */
export type SharedRuns<T> = {
  /** The result of a run that starts from now on: callers during a run share the next one. */
  fresh(): Promise<T>
  /** The result of the run in progress; of a new one if there is none. */
  current(): Promise<T>
  /** Waits until nothing runs, whether runs fail or not. */
  settled(): Promise<void>
  readonly isRunning: boolean
}

export function sharedRuns<T>(work: () => Promise<T>): SharedRuns<T> {
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
