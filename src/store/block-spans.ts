import type { FundingPeriodDataPointRow } from '../projections/batch.ts'

/** Blocks that share one row of `funding_period_block_spans`. */
export const BLOCKS_OF_SPAN = 64n

/** The first and the last time of a market's data points that came in a run of {@link BLOCKS_OF_SPAN} blocks. */
export type BlockSpan = { marketId: string; blocks: bigint; first: bigint; last: bigint }

/** The spans of a batch's data points, those too that change no row. */
export function blockSpansOf(points: readonly FundingPeriodDataPointRow[]): BlockSpan[] {
  const spans = new Map<string, BlockSpan>()
  for (const { marketId, height, timestamp } of points) {
    const blocks = height / BLOCKS_OF_SPAN
    const key = `${marketId}${blocks}`
    const known = spans.get(key)
    if (known === undefined) spans.set(key, { marketId, blocks, first: timestamp, last: timestamp })
    else if (timestamp < known.first) known.first = timestamp
    else if (timestamp > known.last) known.last = timestamp
  }
  return [...spans.values()]
}
