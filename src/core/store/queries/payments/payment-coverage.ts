import type { Since } from '../../../domain/coverage.ts'
import { type Missing, missingOf } from '../../../domain/missing.ts'
import { fundingPayments } from '../../../resources/funding-payments/description.ts'
import type { StoreVersion } from '../../changes.ts'
import type { StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { readFilledStore } from '../freshness.ts'
import { readPrunedBefore } from '../pruned.ts'
import type { PaymentRange } from './funding-sum.ts'
import { type Days, readSummedDays } from './summed-days.ts'

/** What an answer about a range of payments begins with. */
type PaymentCoverage = {
  state: { storeHead: StoreHead; version: StoreVersion } & Missing
  /** The whole days of the range whose sums are stored; null if there are none. */
  days: Days | null
}

/** The state of a store, and what it has of a range of payments; null in an empty store. */
export function* readPaymentCoverage({ start, end }: PaymentRange): Query<PaymentCoverage | null> {
  const filled = yield* readFilledStore()
  if (filled === null) return null
  const { storeHead, version, coverage } = filled
  const since = [...coverage.since, ...(yield* readUnprunedSince(storeHead))]
  const used = [{ resource: fundingPayments.name, start, end }]
  return {
    state: { storeHead, version, ...missingOf({ ...coverage, since }, used) },
    days: yield* readSummedDays({ start, end }, coverage),
  }
}

const READ_HEIGHT_FROM_TIME = `
  select cast(height as text) from funding_payments where timestamp >= $1
  order by timestamp, market_id, seq, party_id limit 1`

const READ_TIME_FROM_HEIGHT = `
  select cast(timestamp as text) from funding_payments where height >= $1
  order by height, event_index, market_id, party_id limit 1`

/** From where payments have not been pruned: the other side of each bound is that of the first payment after it. */
export function* readUnprunedSince(storeHead: StoreHead): Query<Since[]> {
  const pruned = yield* readPrunedBefore()
  const since: Since[] = []
  const resource = fundingPayments.name
  if (pruned?.timestamp != null) {
    const start = BigInt(pruned.timestamp)
    const [first] = yield { text: READ_HEIGHT_FROM_TIME, values: [start] }
    since.push({ resource, height: BigInt(first?.[0] ?? storeHead.height), start })
  }
  if (pruned?.height != null) {
    const height = BigInt(pruned.height)
    const [first] = yield { text: READ_TIME_FROM_HEIGHT, values: [height] }
    since.push({ resource, height, start: BigInt(first?.[0] ?? storeHead.timestamp) })
  }
  return since
}
