import type { MarketAuctions } from 'lyra-client'
import type { Range } from './series.ts'

/** When a market was in auction, Unix nanoseconds; `end` is null while one is in progress. */
export type Auction = { start: bigint; end: bigint | null }

export function readAuctions({ intervals }: MarketAuctions): Auction[] {
  return intervals.map(({ start, end }) => ({
    start: BigInt(start),
    end: end === undefined ? null : BigInt(end),
  }))
}

/** The times of auctions; one in progress lasts until now, as the last block says it. */
export function auctionTimes(auctions: readonly Auction[], now: bigint): Range[] {
  return auctions.map(({ start, end }) => ({ from: start, to: end ?? (now > start ? now : start) }))
}
