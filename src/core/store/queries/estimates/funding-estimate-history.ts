import { type Missing, missingOf } from '../../../domain/missing.ts'
import { DAY } from '../../../domain/time.ts'
import { auctions } from '../../../resources/auctions/description.ts'
import { fundingPeriodDataPoints } from '../../../resources/funding-period-data-points/description.ts'
import { fundingPeriods } from '../../../resources/funding-periods/description.ts'
import type { StoreVersion } from '../../changes.ts'
import type { StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { readFilledStore } from '../freshness.ts'
import { readPrunedBefore } from '../pruned.ts'
import { readMarketInputs, readPeriods } from './market-inputs.ts'
import { type HistoricEstimate, readPeriodEstimates } from './period-estimates.ts'

/** The longest range of a request, and the one up to the last block if the request names no start. */
export const LONGEST_HISTORY = 31n * DAY

/** A request for the estimates of a market's periods over time. */
export type EstimateHistoryQuery = {
  marketId: string
  /** The range of times: start (inclusive) and end (exclusive), Unix nanoseconds; null if the request leaves it open. */
  start: bigint | null
  end: bigint | null
  /** The estimate after which to go on; null for the first. */
  after: EstimateKey | null
  limit: number
}

/** Estimates are in the order of their time, and of two at one time the later period's comes later. */
type EstimateKey = { time: bigint; seq: bigint }

/** The estimates of a market over time, in one snapshot. */
type EstimateHistory = {
  storeHead: StoreHead
  version: StoreVersion
  estimates: readonly HistoricEstimate[]
  /** Whether more follow in the range. */
  more: boolean
  /** Why the request is refused: its range is too long, or the periods in it have too many points; otherwise null. */
  refusal: 'range' | 'points' | null
} & Missing

/** A request reads so many points at most. */
export const MAX_HISTORY_POINTS = 500_000

/** Reads what the periods of a market would have paid at each time of a point, and at their ends; null in an empty store. */
export function* readEstimateHistory(query: EstimateHistoryQuery): Query<EstimateHistory | null> {
  const filled = yield* readFilledStore()
  if (filled === null) return null
  const { storeHead, version, coverage } = filled
  const end = query.end ?? BigInt(storeHead.timestamp) + 1n
  const start = query.start ?? end - LONGEST_HISTORY
  const answer = { storeHead, version, estimates: [], more: false, ...NOTHING_MISSING }
  if (end - start > LONGEST_HISTORY) return { ...answer, refusal: 'range' }
  const from = query.after === null || query.after.time < start ? start : query.after.time
  const periods = yield* readPeriods(query.marketId, from, end)
  const missing = missingOf(
    coverage,
    [fundingPeriods.name, fundingPeriodDataPoints.name, auctions.name].map((resource) => ({
      resource,
      start: periods[0]?.start ?? start,
      end,
    })),
  )
  const inputs = {
    ...(yield* readMarketInputs(query.marketId)),
    coverage,
    pruned: yield* readPrunedBefore(),
    pointsLeft: MAX_HISTORY_POINTS,
  }
  const estimates: HistoricEstimate[] = []
  for (const period of periods) {
    const { seq } = period
    const isWanted = (time: bigint) => time >= start && time < end && isAfter({ time, seq }, query.after)
    const ofPeriod = yield* readPeriodEstimates(period, inputs, isWanted)
    if (ofPeriod === null) return { ...answer, ...missing, refusal: 'points' }
    for (const estimate of ofPeriod) {
      if (estimates.length === query.limit)
        return { ...answer, ...missing, estimates, more: true, refusal: null }
      estimates.push(estimate)
    }
  }
  return { ...answer, ...missing, estimates, refusal: null }
}

const NOTHING_MISSING: Missing = { missing: [], since: null }

function isAfter({ time, seq }: EstimateKey, after: EstimateKey | null): boolean {
  return after === null || time > after.time || (time === after.time && seq > after.seq)
}
