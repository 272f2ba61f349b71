const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 10_000

/**
 * How long to wait before attempt `attempt` (1, 2, ...), milliseconds: twice as long each time, with a jitter of
 * half of it, so that clients cut off together do not come back together; at least what the service asks for.
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
