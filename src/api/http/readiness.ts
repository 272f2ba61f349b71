import { describeHeights } from '../../domain/coverage.ts'
import { describeDuration } from '../../domain/duration.ts'
import type { ForwardState } from '../../ingest/forward/forward-state.ts'
import type { LiveState } from '../../ingest/live/live-ingestion.ts'
import { readGaps } from '../../store/readings/holdings.ts'
import type { GapSummary, Reader } from '../../store/store.ts'
import { COVERAGE_PATH } from '../questions/coverage-body.ts'

/** Every kind of reason for which a service is not ready. */
export const UNREADY_REASONS = [
  'empty store',
  'gap',
  'intake stopped',
  'store unreachable',
  'behind',
] as const

/** Why the service does not serve current data. */
export type UnreadyReason = { reason: (typeof UNREADY_REASONS)[number]; message: string }

/** The state of the ingestion beside the service. */
export type IngestionState = {
  /** What stopped it before its end; null while it runs, has ended, or there is none. */
  failure: string | null
  /** The state of the live ingestion; null if there is none. */
  live: LiveState | null
  /** Seconds that the last block may be old while blocks come in live; null: any age will do. */
  maxBehindSeconds: number | null
}

/** Gaps that are named one by one; of more there is only their number. */
const MAX_GAPS_NAMED = 10

/** Why a service is not ready. */
export type Unreadiness = {
  /** None if it is ready. */
  reasons: UnreadyReason[]
  /** Gaps, those that are not named included. */
  gaps: number
  /** Fault that prevents reading the store, for the log only, since it names the database; null if there is none. */
  storeFault: string | null
}

/** Finds out whether the service serves current data. */
export async function unreadiness(reader: Reader, ingestion: IngestionState): Promise<Unreadiness> {
  const reasons: UnreadyReason[] = []
  for (const failure of [ingestion.failure, ingestion.live?.failure ?? null]) {
    if (failure !== null) reasons.push({ reason: 'intake stopped', message: failure })
  }
  let gaps: GapSummary | null
  try {
    gaps = await reader.read(() => readGaps(MAX_GAPS_NAMED))
  } catch (error) {
    reasons.push({ reason: 'store unreachable', message: 'the store cannot be read; see the log' })
    return { reasons, gaps: 0, storeFault: (error as Error).message }
  }
  if (gaps === null) {
    reasons.push({ reason: 'empty store', message: 'the store holds no block yet' })
    return { reasons, gaps: 0, storeFault: null }
  }
  for (const { from, to, kind } of gaps.first) {
    reasons.push({ reason: 'gap', message: `${describeHeights({ from, to })} ${kind}` })
  }
  if (gaps.count > gaps.first.length) {
    reasons.push({
      reason: 'gap',
      message: `${gaps.count - gaps.first.length} more gaps, ${gaps.count} in all; GET ${COVERAGE_PATH} lists them`,
    })
  }
  const behind = behindSeconds(gaps.timestamp)
  if (ingestion.live !== null && ingestion.maxBehindSeconds !== null && behind > ingestion.maxBehindSeconds) {
    reasons.push({ reason: 'behind', message: `behind by ${describeDuration(behind)}` })
  }
  return { reasons, gaps: gaps.count, storeFault: null }
}

/** The state of forwarding in `/ready`. It never makes the service unready. */
export type ForwardReport = { forward?: Omit<ForwardState, 'messages'> }

/** Nothing if nothing is forwarded. */
export function forwardReport({ live }: IngestionState): ForwardReport {
  if (live === null || live.forward === null) return {}
  const { messages: _, ...forward } = live.forward
  return { forward }
}

/** The age of a block's time, in seconds. */
function behindSeconds(timestamp: bigint): number {
  return (Date.now() - Number(timestamp / 1_000_000n)) / 1000
}
