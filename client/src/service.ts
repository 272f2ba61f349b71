import type { Holdings } from './resources.ts'

/** Heights of blocks, both ends included: digits. */
export type BlockRange = { from: string; to: string }

/** What the service holds, and what it lacks; numbers are digits, times Unix nanoseconds. */
export type Coverage = Holdings & {
  chainId: string
  blocks: {
    /** Blocks that are held whole. */
    ranges: BlockRange[]
    gaps: (BlockRange & { kind: 'missing' | 'incomplete' })[]
    lastTimestamp: string
  }
  /** How far old rows have been taken out; null where none have. */
  prunedBefore: { timestamp: string | null; height: string | null } | null
  /** What to ask the rest with, where there are more than 1,000 gaps or markets; null where this is all. */
  next: string | null
}

/** The answer of `GET /health`. */
export type Health = { status: 'ok' }

/** The answer of `GET /ready`. */
export type Readiness =
  | { status: 'ready' }
  | {
      status: 'not ready'
      reasons: {
        reason: 'empty store' | 'gap' | 'intake stopped' | 'store unreachable' | 'behind'
        message: string
      }[]
    }
