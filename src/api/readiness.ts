import type { Coverage } from '../domain/coverage.ts'
import { describeHeights } from '../domain/coverage.ts'
import type { LiveState } from '../live/live-intake.ts'
import type { Reader } from '../store/store.ts'

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

/** How the intake beside the service fares. */
export type IntakeState = {
  /** What stopped it before its end; null while it runs, has ended, or there is none. */
  failure: string | null
  /** How the live intake stands; null where there is none. */
  live: LiveState | null
  /** Seconds that the last block may be old while blocks come in live; null: any age will do. */
  maxBehindSeconds: number | null
}

/** The reasons for which the service is not ready; none where it is. */
export async function unreadyReasons(reader: Reader, intake: IntakeState): Promise<UnreadyReason[]> {
  const reasons: UnreadyReason[] = []
  for (const failure of [intake.failure, intake.live?.failure ?? null]) {
    if (failure !== null) reasons.push({ reason: 'intake stopped', message: failure })
  }
  let coverage: Coverage | null
  try {
    coverage = await reader.coverage()
  } catch (error) {
    reasons.push({ reason: 'store unreachable', message: (error as Error).message })
    return reasons
  }
  if (coverage === null) reasons.push({ reason: 'empty store', message: 'the store holds no block yet' })
  for (const gap of coverage?.gaps ?? []) {
    // Below where the store began somebody is adding history: current data are served all the same.
    if (gap.from < coverage!.began) continue
    reasons.push({ reason: 'gap', message: `${describeHeights(gap.from, gap.to)} ${gap.kind}` })
  }
  const behind = coverage === null ? null : behindSeconds(coverage.timestamp)
  if (intake.live !== null && intake.maxBehindSeconds !== null && behind !== null) {
    if (behind > intake.maxBehindSeconds) {
      reasons.push({ reason: 'behind', message: `behind by ${Math.round(behind)} seconds` })
    }
  }
  return reasons
}

/** The age of a block's time, in seconds. */
function behindSeconds(timestamp: bigint): number {
  return (Date.now() - Number(timestamp / 1_000_000n)) / 1000
}
