import type { RowOf } from '../../model/table.ts'
import {
  BLOCKS_OF_SPAN,
  type blockSpanTable,
  type PointRow,
  type periodSpanTable,
} from '../../resources/funding-period-data-points/table.ts'

/** The rows of both tables of spans. */
type PointSpans = {
  periods: RowOf<typeof periodSpanTable>[]
  blocks: RowOf<typeof blockSpanTable>[]
}

/**
 * The spans of data points, by period and by range of blocks, including those that change no row.
 *
 * @param newPoints the number of points of each period that were not stored, by {@link periodKey}
 */
export function spansOf(points: readonly PointRow[], newPoints: ReadonlyMap<string, bigint>): PointSpans {
  const byPeriod = new TimeSpans()
  const byBlocks = new TimeSpans()
  for (const { market, timestamp, seq, height } of points) {
    byPeriod.add(market, seq, timestamp)
    byBlocks.add(market, height / BLOCKS_OF_SPAN, timestamp)
  }
  return {
    periods: byPeriod.all().map(({ market, group: seq, first, last }) => ({
      market,
      seq,
      first_timestamp: first,
      last_timestamp: last,
      points: newPoints.get(periodKey(market, seq)) ?? 0n,
    })),
    blocks: byBlocks.all().map(({ market, group: blocks, first, last }) => ({
      market,
      blocks,
      first_timestamp: first,
      last_timestamp: last,
    })),
  }
}

/** A period of a market as a key in maps. */
export const periodKey = (market: bigint | string, seq: bigint | string) => `${market} ${seq}`

/** The first and the last time of a group of a market's points. */
type TimeSpan = {
  market: bigint
  /** The seq of a period, or the number of a range of blocks. */
  group: bigint
  first: bigint
  last: bigint
}

/** The spans of points that are added one by one. */
class TimeSpans {
  readonly #byKey = new Map<string, TimeSpan>()
  /** By market, the span of its last point, which is mostly also that of its next one. */
  readonly #latest = new Map<bigint, TimeSpan>()

  add(market: bigint, group: bigint, timestamp: bigint): void {
    let span = this.#latest.get(market)
    if (span === undefined || span.group !== group) {
      const key = `${market} ${group}`
      span = this.#byKey.get(key) ?? { market, group, first: timestamp, last: timestamp }
      this.#byKey.set(key, span)
      this.#latest.set(market, span)
    }
    if (timestamp < span.first) span.first = timestamp
    if (timestamp > span.last) span.last = timestamp
  }

  all(): TimeSpan[] {
    return [...this.#byKey.values()]
  }
}
