import { tooManyRequests } from '../errors.ts'

/** A burst may be this many seconds' worth of requests. */
const BURST_SECONDS = 5

/** Addresses with a bucket, at most. The one that has sent nothing for longest is forgotten. */
const MAX_ADDRESSES = 100_000

/** The limit's decision about one request. */
type RateDecision = {
  allowed: boolean
  /** Requests that are allowed immediately after this one. */
  remaining: number
  /** Seconds until a full burst is allowed again. */
  resetSeconds: number
  /** Seconds until one request is allowed again. */
  retrySeconds: number
}

/** Decides on requests by address, at a time in milliseconds. */
type RateLimiter = (address: string, nowMs: number) => RateDecision

/** A token bucket for each address: `perSecond` requests a second, and five times that at once. */
export function createRateLimiter(perSecond: number): RateLimiter {
  const burst = perSecond * BURST_SECONDS
  const buckets = new Map<string, { tokens: number; atMs: number }>()
  return (address, nowMs) => {
    const bucket = buckets.get(address) ?? { tokens: burst, atMs: nowMs }
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * perSecond)
    bucket.atMs = nowMs
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    // The map is in the order of last requests.
    buckets.delete(address)
    buckets.set(address, bucket)
    if (buckets.size > MAX_ADDRESSES) buckets.delete(buckets.keys().next().value!)
    return {
      allowed,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: Math.ceil((burst - bucket.tokens) / perSecond),
      retrySeconds: Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond)),
    }
  }
}

/**
 * Counts a request of an address.
 *
 * @returns the headers with the client's limit and what is left of it; none without a limit.
 * @throws {ApiError} 429 for a request too many.
 */
export type CountRequest = (address: string) => Readonly<Record<string, string>>

const NO_HEADERS = {}

/** Counts requests of each address against a limit a second; null for no limit. */
export function createRequestCount(perSecond: number | null): CountRequest {
  if (perSecond === null) return () => NO_HEADERS
  const limiter = createRateLimiter(perSecond)
  return (address) => {
    const decision = limiter(address, performance.now())
    const headers = {
      'RateLimit-Limit': String(perSecond),
      'RateLimit-Remaining': String(decision.remaining),
      'RateLimit-Reset': String(decision.resetSeconds),
    }
    if (decision.allowed) return headers
    throw tooManyRequests({ ...headers, 'Retry-After': String(decision.retrySeconds) })
  }
}
