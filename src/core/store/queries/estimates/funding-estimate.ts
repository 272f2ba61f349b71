import { ENDED_STATES } from '../../../events/market-enums.ts'
import type { Row } from '../../../model/resource.ts'
import { READ_STATE, type StoreVersion } from '../../changes.ts'
import type { StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { stateOf } from '../freshness.ts'
import { type LatestData, readLatestData } from '../market-data.ts'
import { keyOfPeriod, readLatestPeriods, runningOf } from '../periods/latest-periods.ts'

/** The estimated payment if the running period ended now, from the market's latest data; null if these have no estimate. */
export function estimateNode(data: LatestData | null, running: Row | null): object | null {
  if (data === null || running === null) return null
  const { marketId, timestamp, internalTwap, externalTwap, fundingPayment, fundingRate } = data
  const { start, seq } = keyOfPeriod(running)
  if (ENDED_STATES.includes(data.state) || data.seq !== seq) return null
  const texts = { internalTwap, externalTwap, fundingPayment, fundingRate }
  if (Object.values(texts).includes(null)) return null
  return { marketId, seq: seq.toString(), start: start.toString(), at: timestamp.toString(), ...texts }
}

/** A market's estimate, and the last block of the snapshot; null in an empty store. */
export function* readEstimate(
  marketId: string,
): Query<{ estimate: object | null; storeHead: StoreHead; version: StoreVersion } | null> {
  const [state] = yield { text: READ_STATE }
  const { storeHead, version } = stateOf(state!)
  if (storeHead === null) return null
  const data = yield* readLatestData(marketId)
  if (data === null) return { estimate: null, storeHead, version }
  const periods = yield* readLatestPeriods([marketId])
  return { estimate: estimateNode(data, runningOf(periods.get(marketId)!)), storeHead, version }
}
