/** How long an answer that nobody has taken is kept: longer, and it would be old when it is shown. */
const KEPT_MS = 30_000

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
  setTimeout(() => asked.delete(href), KEPT_MS)
}

/** The answer to an address that was asked for early; null if it was not, or the answer is taken. */
export function takeEarly(address: string): Promise<Response> | null {
  const answer = asked.get(address) ?? null
  asked.delete(address)
  return answer
}
