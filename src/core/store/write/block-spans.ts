import type { RowOf } from '../../model/table.ts'
import {
  BLOCKS_OF_SPAN,
  type blockSpanTable,
  type PointRow,
  type periodSpanTable,
} from '../../resources/funding-period-data-points/table.ts'

/** The first and the last time of a market's data points, of one period or of one range of blocks. */
type TimeSpan = { market: bigint; of: bigint; first: bigint; last: bigint }

type PointSpans = {
  periods: RowOf<typeof periodSpanTable>[]
  blocks: RowOf<typeof blockSpanTable>[]
}

/**
 * The spans of data points, by period and by range of blocks, including those that change no row.
 *
 * @param newPoints the number of points of each period that were not stored, by `${market} ${seq}`
 */
export function spansOf(points: readonly PointRow[], newPoints: ReadonlyMap<string, bigint>): PointSpans {
  const periods = createSpans()
  const blocks = createSpans()
  for (const { market, timestamp, seq, height } of points) {
    periods.add(market, seq, timestamp)
    blocks.add(market, height / BLOCKS_OF_SPAN, timestamp)
  }
  return {
    periods: periods.all().map(({ market, of: seq, ...ends }) => ({
      market,
      seq,
      ...spanColumns(ends),
      points: newPoints.get(`${market} ${seq}`) ?? 0n,
    })),
    blocks: blocks.all().map(({ market, of, ...ends }) => ({ market, blocks: of, ...spanColumns(ends) })),
  }
}

const spanColumns = ({ first, last }: Pick<TimeSpan, 'first' | 'last'>) => ({
  first_timestamp: first,
  last_timestamp: last,
})

function createSpans() {
  const byKey = new Map<string, TimeSpan>()
  /** By market, the span of its last point, which is mostly also that of its next one. */
  const latest = new Map<bigint, TimeSpan>()

  function add(market: bigint, of: bigint, timestamp: bigint): void {
    let span = latest.get(market)
    if (span === undefined || span.of !== of) {
      const key = `${market} ${of}`
      span = byKey.get(key) ?? { market, of, first: timestamp, last: timestamp }
      byKey.set(key, span)
      latest.set(market, span)
    }
    if (timestamp < span.first) span.first = timestamp
    if (timestamp > span.last) span.last = timestamp
  }

  return { add, all: () => [...byKey.values()] }
}
