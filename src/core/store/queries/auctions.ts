import { TRADING_IS_OVER } from '../../events/market-enums.ts'
import { type Auctions, enterAuction, leaveAuction, noAuctions } from '../../funding/auctions.ts'
import { wholeSecond } from '../../funding/whole-second.ts'
import type { StoreHead } from '../pages/page.ts'
import type { Query } from '../queries-protocol.ts'
import { readLastAuctionEvents } from './auction-events.ts'
import { readStoreHead } from './coverage.ts'

/** The requested auctions of a market: those that overlap a range of times, Unix nanoseconds; null for an open end. */
export type AuctionsQuery = { marketId: string; start: bigint | null; end: bigint | null }

/**
 * The auctions in one snapshot, oldest first; `end` is null for one in progress. Auctions that ended by `completeFrom` may
 * be missing.
 */
type AuctionsAt = {
  storeHead: StoreHead
  completeFrom: bigint
  auctions: { start: bigint; end: bigint | null }[]
}

/**
 * Maximum number of auction events read for a market, newest first. An auction has two, and one more for each extension.
 */
export const MAX_AUCTION_EVENTS = 20_000

/**
 * The end of a market whose auction has no end, because an older version stored its blocks, or they were imported. A
 * market's last period ends in the block in which the market ends. For other markets, the time of their latest data is the
 * best one known.
 */
const READ_END = `
  select cast((
    select end_timestamp from funding_periods
    where funding_periods.market_id = $1 order by start_timestamp desc, seq desc limit 1
  ) as text), cast((select timestamp from market_data where market_data.market_id = $1) as text)
  from instruments where instruments.market_id = $1 and state in (${TRADING_IS_OVER.join(', ')})`

/** Reads a market's auctions (docs/twap.md, "Auctions"); null in an empty store. */
export function* readAuctions({ marketId, start, end }: AuctionsQuery): Query<AuctionsAt | null> {
  const storeHead = yield* readStoreHead()
  if (storeHead === null) return null
  const last = yield* readLastAuctionEvents(marketId, MAX_AUCTION_EVENTS + 1)
  const isCut = last.length > MAX_AUCTION_EVENTS
  const events = last.slice(-MAX_AUCTION_EVENTS)
  const state: Auctions = noAuctions()
  for (const { isLeave, second } of events) {
    if (isLeave) leaveAuction(state, second)
    else enterAuction(state, second)
  }
  if (state.open !== null) {
    const [ends = []] = yield { text: READ_END, values: [marketId] }
    const { open } = state
    const end = ends.map((time) => wholeSecond(BigInt(time ?? -1))).find((time) => time >= open)
    if (end !== undefined) leaveAuction(state, end)
  }
  const open = state.open === null ? [] : [{ start: state.open, end: null }]
  const isEmpty = start !== null && end !== null && start >= end
  const auctions = [...state.closed, ...open].filter(
    (auction) =>
      !isEmpty &&
      (end === null || auction.start < end) &&
      (start === null || auction.end === null || auction.end > start),
  )
  const completeFrom = isCut ? events[0]!.second : 0n
  return { storeHead, completeFrom, auctions }
}
