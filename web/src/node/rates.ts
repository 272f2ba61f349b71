import type { CoverageSample } from '../service/coverage.ts'

/** Blocks and points received within a time. */
export type Rates = {
  /** The time watched, milliseconds. */
  overMs: number
  blocks: bigint
  points: bigint
}

/** Differences between the first and the last of some samples; null if there are fewer than two. */
export function ratesOf(samples: readonly CoverageSample[]): Rates | null {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || first === last) return null
  return {
    overMs: last.at - first.at,
    blocks: last.height - first.height,
    points: last.points - first.points,
  }
}

/** So many in a time, as so many a minute, to a tenth: `12.3`. */
export function perMinute(count: bigint, ms: number): string {
  if (ms <= 0) return '0.0'
  const tenths = (count * 600_000n) / BigInt(Math.round(ms))
  return `${tenths / 10n}.${(tenths < 0n ? -tenths : tenths) % 10n}`
}
