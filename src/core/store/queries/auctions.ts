import { TRADING_IS_OVER } from '../../events/market-enums.ts'
import { type Auctions, enterAuction, leaveAuction, noAuctions } from '../../funding/auctions.ts'
import { wholeSecond } from '../../funding/whole-second.ts'
import type { Query, StoreHead } from '../pages/page.ts'
import { readStoreHead } from './coverage.ts'

/** The requested auctions of a market: those that overlap a range, Unix nanoseconds; null for an open end. */
export type AuctionsQuery = { marketId: string; start: bigint | null; end: bigint | null }

/**
 * The auctions of one snapshot, oldest first; `end` is null while one is in progress. Those that ended before
 * `completeFrom` may be missing.
 */
type AuctionsAt = {
  storeHead: StoreHead
  completeFrom: bigint
  auctions: { start: bigint; end: bigint | null }[]
}

/** Auction events read per market, newest first: an auction has two, and one more per extension. */
export const MAX_AUCTION_EVENTS = 20_000

const READ_EVENTS = `
  select leave, cast(case when leave then end_timestamp else start_timestamp end as text)
  from auctions where market_id = $1
  order by auctions.height desc, auctions.event_index desc limit ${MAX_AUCTION_EVENTS + 1}`

/**
 * When a market ended whose auction has no end: in blocks that an older version stored, or that were imported. Its last period
 * ends in the block in which the market does; other markets have no better time than that of their latest data.
 */
const READ_END = `
  select cast((
    select end_timestamp from funding_periods
    where funding_periods.market_id = $1 order by start_timestamp desc, seq desc limit 1
  ) as text), cast((select timestamp from market_data where market_data.market_id = $1) as text)
  from instruments where instruments.market_id = $1 and state in (${TRADING_IS_OVER.join(', ')})`

/** The statements that read a market's auctions (docs/twap.md, "Auctions"), in one snapshot. Null in an empty store. */
export function* readAuctions({ marketId, start, end }: AuctionsQuery): Query<AuctionsAt | null> {
  const storeHead = yield* readStoreHead()
  if (storeHead === null) return null
  const rows = yield { text: READ_EVENTS, values: [marketId] }
  const isCut = rows.length > MAX_AUCTION_EVENTS
  const state: Auctions = noAuctions()
  for (const [leave, time] of rows.slice(0, MAX_AUCTION_EVENTS).reverse()) {
    // Booleans are numbers in SQLite.
    if (Number(leave) === 1) leaveAuction(state, wholeSecond(BigInt(time!)))
    else enterAuction(state, wholeSecond(BigInt(time!)))
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
  const completeFrom = isCut ? wholeSecond(BigInt(rows.at(-2)![1]!)) : 0n
  return { storeHead, completeFrom, auctions }
}
