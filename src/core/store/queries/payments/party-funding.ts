import { type CalendarSpan, startOfSpan } from '../../../domain/calendar.ts'
import { getOrInsert } from '../../../domain/get-or-insert.ts'
import type { Missing } from '../../../domain/missing.ts'
import type { StoreVersion } from '../../changes.ts'
import type { StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { type FundingSum, type FundingSums, newSum, type PaymentRange } from './funding-sum.ts'
import { readPaymentCoverage } from './payment-coverage.ts'
import { MAX_SUMMED_ROWS, readSummands } from './read-summands.ts'

/** A request for what a party paid and received. */
export type PartyFundingQuery = PaymentRange & {
  partyId: string
  /** Null: all markets. */
  marketId: string | null
  /** The length of buckets; null: none. */
  span: CalendarSpan | null
}

/** The sums of a party in a market. A bucket starts with a day, week or month, Unix nanoseconds. */
export type MarketFunding = FundingSums & {
  marketId: string
  /** Those with a payment, in time order; empty if none were requested. */
  buckets: readonly (FundingSums & { start: bigint })[]
}

/** What a party paid and received in each market, in one snapshot. */
type PartyFunding = {
  storeHead: StoreHead
  version: StoreVersion
  /** Those in which it paid or received anything in the range, by id. */
  markets: readonly MarketFunding[]
  /** Whether the range has more than is added up; then there are no sums. */
  isTooLong: boolean
} & Missing

/** Adds up the payments of a party; null in an empty store. */
export function* readPartyFunding(query: PartyFundingQuery): Query<PartyFunding | null> {
  const covered = yield* readPaymentCoverage(query)
  if (covered === null) return null
  const { state, days } = covered
  const { partyId, marketId, span } = query
  const markets = new Map<string, MarketSums>()
  const read = yield* readSummands({ marketId, partyId }, query, days, MAX_SUMMED_ROWS, (summand) => {
    const { all, buckets } = getOrInsert(markets, summand.marketId, noSums)
    all.add(summand)
    if (span !== null) getOrInsert(buckets, startOfSpan(summand.time, span), newSum).add(summand)
  })
  if (read === null) return { ...state, markets: [], isTooLong: true }
  const inOrder = [...markets].sort(([a], [b]) => (a < b ? -1 : 1))
  return { ...state, markets: inOrder.map(marketFunding), isTooLong: false }
}

/** The sums of a market: of all payments, and of buckets by their start. */
type MarketSums = { all: FundingSum; buckets: Map<bigint, FundingSum> }

const noSums = (): MarketSums => ({ all: newSum(), buckets: new Map() })

function marketFunding([marketId, { all, buckets }]: [string, MarketSums]): MarketFunding {
  const inOrder = [...buckets].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    marketId,
    ...all.texts(),
    buckets: inOrder.map(([start, sum]) => ({ start, ...sum.texts() })),
  }
}
