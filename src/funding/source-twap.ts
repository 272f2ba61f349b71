import type { Auctions } from './auctions.ts'
import type { PricePoint } from './point-list.ts'

/** What the two sources of a market share during a funding period: its start (Unix nanoseconds) and the auctions known. */
export type Period = { start: bigint; auctions: Auctions }

/** The points of one source in one funding period, and their time-weighted average price. */
export type SourceTwap = {
  /** The points kept, sorted by time. */
  readonly points: readonly PricePoint[]
  /** Adds a point and returns the TWAP sent with it, or null if the core refuses the point. */
  add(point: PricePoint): bigint | null
  /** The TWAP up to `time` (Unix nanoseconds), or null if there is none: no points, or all of them later. */
  meanAt(time: bigint): bigint | null
  /**
   * The TWAP up to a time before the last point, had the core refused a point in the middle just before: that leaves no
   * event (docs/twap.md). Null if it would be no other, or no point can have been refused so; not there where
   * nothing that was asked before bears on a TWAP.
   */
  meanAfterRefusal?(time: bigint): bigint | null
}
