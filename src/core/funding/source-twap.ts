import type { Auctions } from './auctions.ts'
import type { PricePoint } from './point-list.ts'

/**
 * State shared by both sources of a market during a funding period: its start (Unix nanoseconds) and the known
 * auctions.
 */
export type TwapPeriod = { start: bigint; auctions: Auctions }

/** The points of one source in one funding period, and their time-weighted average price. */
export type SourceTwap = {
  /** The accepted points, sorted by time. */
  readonly points: readonly PricePoint[]
  /** Adds a point. Returns the TWAP sent with it; null if the core refuses the point. */
  add(point: PricePoint): bigint | null
  /** The TWAP up to `time` (Unix nanoseconds); null if there are no points, or only later ones. */
  meanAt(time: bigint): bigint | null
  /**
   * The TWAP up to a time before the last point, if the core had refused a point in between, which leaves no event
   * (docs/twap.md). Null if the TWAP would be the same, or no point can have been refused; absent if earlier requests never
   * affect a TWAP.
   */
  meanAfterRefusal?(time: bigint): bigint | null
}
