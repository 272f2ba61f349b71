import type { Coverage } from 'lyra-client'
import { type CoverageSample, lastHeight } from '../service/coverage.ts'

/** Blocks and points received within a time. */
export type Rates = {
  /** The time watched, milliseconds. */
  overMs: number
  blocks: bigint
  points: bigint
  checkpoints: bigint
  /** Time of the network that has passed, nanoseconds. */
  networkTime: bigint
}

/** Differences between the first and the last of some answers; null if there are fewer than two. */
export function ratesOf(samples: readonly CoverageSample[]): Rates | null {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || first === last) return null
  const grown = (of: (coverage: Coverage) => bigint) => of(last.coverage) - of(first.coverage)
  return {
    overMs: last.at - first.at,
    blocks: grown((coverage) => BigInt(lastHeight(coverage))),
    points: grown(pointsOf),
    checkpoints: grown(({ checkpoints }) => BigInt(checkpoints.count)),
    networkTime: grown(({ blocks }) => BigInt(blocks.lastTimestamp)),
  }
}

/** The data points of all markets. */
export function pointsOf({ fundingPeriodDataPoints }: Coverage): bigint {
  return sumOf(fundingPeriodDataPoints)
}

/** The rows of all markets. */
export function sumOf(list: readonly { count: string }[]): bigint {
  return list.reduce((sum, { count }) => sum + BigInt(count), 0n)
}

/** So many in a time, as so many a minute, to a tenth: `12.3`. */
export function perMinute(count: bigint, ms: number): string {
  if (ms <= 0) return '0.0'
  const tenths = (count * 600_000n) / BigInt(Math.round(ms))
  return `${tenths / 10n}.${(tenths < 0n ? -tenths : tenths) % 10n}`
}
