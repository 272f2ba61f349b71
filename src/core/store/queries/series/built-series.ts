import { BASE, type BucketRange, bucketRanges, FIRST_BASE } from '../../../domain/series-levels.ts'
import type { Query } from '../../queries-protocol.ts'
import type { MarketSeries } from './counted-points.ts'

/** How far a series is built: all buckets before `to`, an index of the shortest buckets, except stale ones. */
export type BuiltSeries = {
  to: bigint
  /** Stale ranges, ascending, without overlap. */
  stale: readonly BucketRange[]
  /** The ids of the rows that mark these ranges. */
  marks: readonly bigint[]
}

const READ_BUILT = `
  select cast(made_to as text), cast(id as text), cast(from_bucket as text), cast(to_bucket as text)
  from funding_period_series_made as made left join funding_period_series_stale as stale
    on stale.market = $1 and stale.source = $2
  where made.market = $1 and made.source = $2`

/** Reads how far a series is built: nothing of it, if its writer has stored nothing. */
export function* readBuiltSeries({ market, source }: MarketSeries): Query<BuiltSeries> {
  const rows = yield { text: READ_BUILT, values: [market, source] }
  const marked = rows.filter(([, id]) => id !== null)
  return {
    to: rows.length === 0 ? FIRST_BASE : BigInt(rows[0]![0]!),
    stale: bucketRanges(
      BASE,
      marked.map(([, , from, to]) => ({ from: BigInt(from!), to: BigInt(to!) })),
    ),
    marks: marked.map(([, id]) => BigInt(id!)),
  }
}
