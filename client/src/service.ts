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
  /** Up to where old rows have been deleted; null if none have. */
  prunedBefore: { timestamp: string | null; height: string | null } | null
  /** Give it as `after` for the rest, where there are more than 1,000 gaps, imported ranges or markets; null at the end. */
  next: string | null
}

/** The answer of `GET /health`. */
export type Health = { status: 'ok' }

/** How a service passes on what its core sends to another receiver. */
export type Forwarding = {
  connected: boolean
  /** The last block passed on; null before the first. */
  height: string | null
  /** What is still to be passed on: bytes, blocks, seconds of the chain's time. */
  lagBytes: number
  lagBlocks: number
  lagSeconds: number
  /** What was deleted before it was passed on, since the start of the service. */
  droppedBytes: number
  droppedBlocks: { from: string; to: string } | null
  /** Blocks that the receiver needs from elsewhere: what is passed on begins after them. */
  missingBlocks: { from: string; to: string } | null
  /** Why nothing is passed on; null while all is well. */
  failure: string | null
}

/** The answer of `GET /ready`. */
export type Readiness =
  | { status: 'ready'; forward?: Forwarding; cluster?: string[] }
  | {
      status: 'not ready'
      forward?: Forwarding
      /** What is wrong with the cluster that the store is spread over. */
      cluster?: string[]
      /** The name of a store that holds no block yet, without folder or host. */
      store?: string
      reasons: {
        reason: 'empty store' | 'gap' | 'intake stopped' | 'store unreachable' | 'behind'
        message: string
      }[]
    }
