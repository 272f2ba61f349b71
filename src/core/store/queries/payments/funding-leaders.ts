import { compareDecimals } from '../../../domain/decimal.ts'
import { getOrInsert } from '../../../domain/get-or-insert.ts'
import { NETWORK } from '../../../domain/ids.ts'
import type { Missing } from '../../../domain/missing.ts'
import type { StoreVersion } from '../../changes.ts'
import type { StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { type FundingSum, type FundingSums, newSum, type PaymentRange } from './funding-sum.ts'
import { readPaymentCoverage } from './payment-coverage.ts'
import { MAX_SUMMED_ROWS, readSummands } from './read-summands.ts'

/** By what parties are ordered, the greatest first. */
export const LEADER_ORDERS = ['net', 'received', 'paid'] as const

type LeaderOrder = (typeof LEADER_ORDERS)[number]

/** A request for the parties that received or paid most, in a market, or in all that settle in an asset. */
export type FundingLeadersQuery = PaymentRange &
  ({ marketId: string; assetId: null } | { marketId: null; assetId: string }) & {
    order: LeaderOrder
    /** How many of them. */
    limit: number
  }

/** The parties that received or paid most in a range, in one snapshot. */
type FundingLeaders = {
  storeHead: StoreHead
  version: StoreVersion
  /** How many parties paid or received anything. */
  parties: number
  /** The first of them; of equal ones, the one with the lesser id. */
  leaders: readonly (FundingSums & { partyId: string })[]
  /** Whether the range has more than is added up; then there are no sums. */
  isTooLong: boolean
} & Missing

const READ_MARKETS_OF_ASSET =
  'select market_id from instruments where settlement_asset = $1 order by market_id'

/**
 * Adds up the payments of each party; null in an empty store. What the network's own party really paid no event says: it is
 * left out.
 */
export function* readFundingLeaders(query: FundingLeadersQuery): Query<FundingLeaders | null> {
  const covered = yield* readPaymentCoverage(query)
  if (covered === null) return null
  const { state, days } = covered
  const parties = new Map<string, FundingSum>()
  let left = MAX_SUMMED_ROWS
  for (const marketId of yield* readMarkets(query)) {
    const read = yield* readSummands({ marketId, partyId: null }, query, days, left, (summand) => {
      if (summand.partyId !== NETWORK) getOrInsert(parties, summand.partyId, newSum).add(summand)
    })
    if (read === null) return { ...state, parties: 0, leaders: [], isTooLong: true }
    left -= read
  }
  const { order, limit } = query
  const inOrder = [...parties].sort(
    ([a, one], [b, other]) => compareDecimals(other[order], one[order]) || (a < b ? -1 : 1),
  )
  const leaders = inOrder.slice(0, limit).map(([partyId, sum]) => ({ partyId, ...sum.texts() }))
  return { ...state, parties: parties.size, leaders, isTooLong: false }
}

function* readMarkets({ marketId, assetId }: FundingLeadersQuery): Query<readonly string[]> {
  if (marketId !== null) return [marketId]
  const rows = yield { text: READ_MARKETS_OF_ASSET, values: [assetId] }
  return rows.map(([id]) => String(id))
}
