/** How long an answer waits for the request that takes it: after that it would be old when it is shown. */
const LONGEST_WAIT_MS = 30_000

const asked = new Map<string, Promise<Response>>()

/**
 * Sends a view's request before its code is loaded. The view's own request for the same address takes this answer,
 * once; see `watchedFetch`.
 *
 * @param target path and query, or the address
 */
export function askEarly(target: string): void {
  const { href } = new URL(target, location.origin)
  if (asked.has(href)) return
  const answer = fetch(href)
  // The request that takes it gets the failure.
  answer.catch(() => {})
  asked.set(href, answer)
  setTimeout(() => asked.delete(href), LONGEST_WAIT_MS)
}

/** The answer to an address that was asked for early; null if it was not, or the answer is taken. */
export function takeEarly(address: string): Promise<Response> | null {
  const answer = asked.get(address) ?? null
  asked.delete(address)
  return answer
}
