import {
  decimal,
  digits,
  integer,
  marketNumber,
  natural,
  orNull,
  positionColumns,
  positive,
  small,
} from '../../model/columns.ts'
import { defineTable, type RowOf, type TextRow } from '../../model/table.ts'

/** Data points, whose market is its id until the row is written. */
export const dataPointTable = defineTable({
  name: 'funding_period_data_points',
  counted: 'fundingPeriodDataPoints',
  pruned: { time: 'timestamp', height: 'height' },
  columns: {
    market: marketNumber(),
    source: small(2),
    timestamp: integer(),
    seq: natural(),
    price: digits(),
    twap: digits(),
    ...positionColumns,
  },
  key: ['market', 'source', 'timestamp', 'seq'],
  alsoChanges: 'series',
  distribution: 'market',
})

/** A data point to be written, with the number of its market. */
export type PointRow = RowOf<typeof dataPointTable> & { market: bigint }

const ends = { first_timestamp: integer('least'), last_timestamp: integer('greatest') }

const faultsOfEnds = ({ first_timestamp: first, last_timestamp: last }: TextRow) =>
  BigInt(first!) > BigInt(last!) ? ['it ends before it begins'] : []

/** The first and last time of a period's points, and their number. */
export const periodSpanTable = defineTable({
  name: 'funding_period_spans',
  columns: {
    market: marketNumber(),
    seq: natural(),
    ...ends,
    points: positive('sum'),
  },
  key: ['market', 'seq'],
  distribution: 'market',
  faultsOf: faultsOfEnds,
})

/** Number of blocks that share one row of the next table. */
export const BLOCKS_OF_SPAN = 64n

/** The first and last time of a market's points from each range of {@link BLOCKS_OF_SPAN} blocks. */
export const blockSpanTable = defineTable({
  name: 'funding_period_block_spans',
  columns: { market: marketNumber(), blocks: natural(), ...ends },
  key: ['market', 'blocks'],
  distribution: 'market',
  faultsOf: faultsOfEnds,
})

/**
 * The buckets of charts. The columns of least and greatest values are null if the first or the last value is that one
 * (domain/series.ts).
 */
export const seriesTable = defineTable({
  name: 'funding_period_series',
  columns: {
    market: marketNumber(),
    source: small(2),
    seconds: natural(),
    bucket: integer(),
    points: positive(),
    price_first: decimal(),
    price_last: decimal(),
    price_minimum: orNull(decimal()),
    price_maximum: orNull(decimal()),
    twap_first: decimal(),
    twap_last: decimal(),
    twap_minimum: orNull(decimal()),
    twap_maximum: orNull(decimal()),
    seq: natural(),
  },
  key: ['market', 'source', 'seconds', 'bucket'],
  distribution: 'market',
})

/** How far a market's series of each source are built: all buckets that end before this half-minute bucket. */
export const builtSeriesTable = defineTable({
  name: 'funding_period_series_made',
  columns: { market: marketNumber(), source: small(2), made_to: integer('given') },
  key: ['market', 'source'],
  distribution: 'market',
})

/** The built buckets that are stale because their points have changed: `from_bucket` is included, `to_bucket` is not. */
export const seriesStaleTable = defineTable({
  name: 'funding_period_series_stale',
  columns: {
    market: marketNumber(),
    source: small(2),
    id: integer(),
    from_bucket: integer(),
    to_bucket: integer(),
  },
  key: ['market', 'source', 'id'],
  distribution: 'market',
  faultsOf: ({ from_bucket: from, to_bucket: to }) =>
    BigInt(from!) < BigInt(to!) ? [] : ['it ends before it begins'],
})
