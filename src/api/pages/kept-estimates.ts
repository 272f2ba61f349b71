import { LRUCache } from 'lru-cache'
import type { StoreVersion } from '../../store/changes.ts'
import type { EstimateMaker } from '../../store/market-summaries.ts'
import { fundingEstimateOf } from './funding-estimate.ts'

/** Estimates kept: each is some hundred bytes. A page of summaries has 5,000 at most. */
const MAX_KEPT = 10_000

type Kept = { version: StoreVersion; estimate: string | null }

/** Makes the estimates of running periods, each once a commit. */
export function createKeptEstimates(): EstimateMaker {
  const all = new LRUCache<string, Kept>({ max: MAX_KEPT })
  return {
    kept: (marketId, { version, mark }) => {
      const found = all.get(marketId)
      const isOfCommit = found?.version.version === version && found.version.mark === mark
      return isOfCommit ? found.estimate : undefined
    },
    make: (marketId, at) => {
      const node = fundingEstimateOf(marketId, at)
      const estimate = node === null ? null : JSON.stringify(node)
      all.set(marketId, { version: at.version, estimate })
      return estimate
    },
  }
}
