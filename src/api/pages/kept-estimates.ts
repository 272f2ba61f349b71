import { LRUCache } from 'lru-cache'
import type { StoreVersion } from '../../store/changes.ts'
import type { EstimateMaker } from '../../store/funding-estimates.ts'
import { fundingEstimateOf, type RunningMarket } from './funding-estimate.ts'

/** Estimates kept: each is some hundred bytes, and the last points of its market. A page of summaries has 5,000 at most. */
const MAX_KEPT = 10_000

type Kept = { version: StoreVersion; estimate: string | null; running: RunningMarket | null }

/** Makes the estimates of running periods, each once a commit, going on from that of an earlier one. */
export function createKeptEstimates(): EstimateMaker {
  const all = new LRUCache<string, Kept>({ max: MAX_KEPT })
  return {
    kept: (marketId, { version, mark }) => {
      const found = all.get(marketId)
      const isOfCommit = found?.version.version === version && found.version.mark === mark
      return isOfCommit ? found.estimate : undefined
    },
    known: (marketId) => all.get(marketId)?.running?.known ?? null,
    make: (marketId, at) => {
      const before = all.get(marketId)?.running ?? null
      // Kept again only once it is made: a part of it is of no use.
      all.delete(marketId)
      const made = fundingEstimateOf(marketId, at, before)
      if (made === null) return undefined
      const estimate = made.node === null ? null : JSON.stringify(made.node)
      all.set(marketId, { version: at.version, estimate, running: made.running })
      return estimate
    },
  }
}
