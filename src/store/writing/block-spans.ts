import type { BatchRow } from '../../resources/batch.ts'
import { POINT } from '../tables.ts'

/** Blocks that share one row of `funding_period_block_spans`. */
export const BLOCKS_OF_SPAN = 64n

/** The first and the last time of a market's data points of a period, or a run of blocks. */
type Span = { market: bigint; of: bigint; first: bigint; last: bigint }

/** Rows of `funding_period_spans`, of `funding_period_block_spans`, and of `funding_period_imported_spans`. */
export type PointSpans = { periods: BatchRow[]; blocks: BatchRow[]; imported: BatchRow[] }

export type SpanOptions = {
  /** How many of the points of a period the store did not hold, by `${market} ${seq}`. */
  newPoints: ReadonlyMap<string, bigint>
  /** The start of a period; null if it is not stored. */
  startOf: (market: bigint, seq: bigint) => bigint | null
  /** Whether the points of a block are imported. */
  isImported: (height: bigint) => boolean
}

/**
 * The spans of data points, by period and by run of blocks; of those too that change no row.
 *
 * @param points rows of `funding_period_data_points`, with the numbers of their markets
 */
export function spansOf(
  points: readonly BatchRow[],
  { newPoints, startOf, isImported }: SpanOptions,
): PointSpans {
  const periods = new Spans()
  const blocks = new Spans()
  const imported = [new Spans(), new Spans(), new Spans()]
  for (const row of points) {
    const market = row[POINT.market] as bigint
    const timestamp = row[POINT.timestamp] as bigint
    const height = row[POINT.height] as bigint
    periods.add(market, row[POINT.seq] as bigint, timestamp)
    // Of a point whose block an import does not know there is none.
    if (height === 0n) continue
    const spans = isImported(height) ? imported[Number(row[POINT.source])]! : blocks
    spans.add(market, height / BLOCKS_OF_SPAN, timestamp)
  }
  return {
    periods: periods.all.map(({ market, of, first, last }) => [
      ...[market, of, first, last, newPoints.get(`${market} ${of}`) ?? 0n, startOf(market, of)],
    ]),
    blocks: blocks.all.map(({ market, of, first, last }) => [market, of, first, last]),
    imported: imported.flatMap((spans, source) =>
      spans.all.map(({ market, of, first, last }): BatchRow => [market, BigInt(source), of, first, last]),
    ),
  }
}

class Spans {
  readonly #byKey = new Map<string, Span>()
  /** By market: the span of its last point, which is mostly that of its next. */
  readonly #latest = new Map<bigint, Span>()

  get all(): Span[] {
    return [...this.#byKey.values()]
  }

  add(market: bigint, of: bigint, timestamp: bigint): void {
    let span = this.#latest.get(market)
    if (span === undefined || span.of !== of) {
      const key = `${market} ${of}`
      span = this.#byKey.get(key)
      if (span === undefined) {
        span = { market, of, first: timestamp, last: timestamp }
        this.#byKey.set(key, span)
      }
      this.#latest.set(market, span)
    }
    if (timestamp < span.first) span.first = timestamp
    if (timestamp > span.last) span.last = timestamp
  }
}
