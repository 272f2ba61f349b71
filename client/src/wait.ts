const FIRST_WAIT_MS = 200

/** The longest wait that a service may ask for. */
export const LONGEST_ASKED_MS = 60_000

/**
 * Milliseconds to wait before attempt `attempt` (1, 2, ...): doubled each time up to the longest wait, half
 * of that random, so that clients cut off together do not return together; at least the service's Retry-After, but that for no
 * more than a minute.
 */
export function backOffMs(attempt: number, longestWaitMs: number, retryAfterSeconds: number | null): number {
  const wait = Math.min(longestWaitMs, FIRST_WAIT_MS * 2 ** (attempt - 1))
  const asked = Math.min(LONGEST_ASKED_MS, (retryAfterSeconds ?? 0) * 1000)
  return Math.max(asked, wait / 2) + (Math.random() * wait) / 2
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
