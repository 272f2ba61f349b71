import type { Time } from './resources.ts'

/** The auctions that overlap a range. */
export type AuctionsOptions = {
  from?: Time | undefined
  to?: Time | undefined
  signal?: AbortSignal | undefined
}

/** When a market was in auction; times are Unix nanoseconds. */
export type Auctions = {
  marketId: string
  /** Auctions that ended before this time may be missing; `0` unless the market has had a great many. */
  completeFrom: string
  /** Oldest first; none touches the next. One without an `end` is in progress. */
  intervals: { start: string; end?: string }[]
}
