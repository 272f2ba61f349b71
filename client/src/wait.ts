const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 10_000

/**
 * Milliseconds to wait before attempt `attempt` (1, 2, ...): doubled each time, half of it random, so that clients cut
 * off together do not return together; at least the service's Retry-After.
 */
export function backOffMs(attempt: number, retryAfterSeconds: number | null = null): number {
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1))
  return Math.max((retryAfterSeconds ?? 0) * 1000, wait / 2) + (Math.random() * wait) / 2
}

/** Waits, until the signal ends it; rejects with the signal's reason then. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
