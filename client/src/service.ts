import type { Holdings } from './resources.ts'

/** Heights of blocks, both ends included: digits. */
export type BlockRange = { from: string; to: string }

/** What the service holds, and what it lacks; numbers are digits, times Unix nanoseconds. */
export type Coverage = Holdings & {
  chainId: string
  blocks: {
    /** Blocks all of whose events are held. */
    ranges: BlockRange[]
    gaps: (BlockRange & { kind: 'missing' | 'incomplete' })[]
    /**
     * Blocks that were imported from tables of the reference: not all of their data points are there, times have
     * microseconds, and the order within a block is not known.
     */
    imported: BlockRange[]
    lastTimestamp: string
  }
  /** How far old rows have been taken out; null where none have. */
  prunedBefore: { timestamp: string | null; height: string | null } | null
  /** What to ask the rest with, where there are more than 1,000 gaps, imported ranges or markets; null where this is all. */
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
