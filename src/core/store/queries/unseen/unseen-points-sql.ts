import type { PositionRange } from '../../../domain/unseen.ts'
import type { KeyValue, Selection } from '../../../model/resource.ts'
import {
  fundingPeriodDataPoints,
  SOURCE_NUMBERS,
} from '../../../resources/funding-period-data-points/description.ts'
import { BLOCKS_OF_SPAN } from '../../../resources/funding-period-data-points/table.ts'
import { columnList, filterConditions } from '../../pages/scan-sql.ts'
import type { Statement } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'
import { type LocatedRows, MAX_READ_ROWS, POSITION_COLUMNS } from './positioned-rows.ts'

/*
 * The statements of unseen-points.ts. Points are stored by market, source and time; the table of spans has the first and the
 * last time of each market's points from each 64 blocks.
 */

/** Number of spans of blocks whose points are read at a time. */
export const SPANS_AT_ONCE = 16

/** Maximum number of markets whose points of one span of blocks are read at a time. */
export const MARKETS_AT_ONCE = 64

/** The points of one market between two times, both included. */
export type TimesOfMarket = { market: bigint; first: bigint; last: bigint }

/** The points of several markets between the times of some spans of blocks, each market with its own times. */
type SpansOfMarkets = {
  /** The numbers of the first and the last span. */
  spans: readonly [first: bigint, last: bigint]
  /** Only markets with higher numbers. */
  afterMarket: bigint
  /** Only markets up to this number; null for all. */
  upToMarket: bigint | null
}

/** Points that one statement reads or counts. */
export type PointsToRead = TimesOfMarket | SpansOfMarkets

/** The key of a point within its market and source. */
export type PointKey = readonly [timestamp: bigint, seq: bigint]

/** A source's points after one key, and not after another one. */
export type PartOfSource = { source: bigint; after: PointKey; upTo: PointKey }

/** The numbers of the first and the last span of blocks. */
export const spanNumbers = ({ height }: PositionRange, through: bigint) =>
  [height / BLOCKS_OF_SPAN, through / BLOCKS_OF_SPAN] as const

/** The sources of a selection. Each is a range of its own, because the key begins with the source. */
export function sourcesOf({ source }: Selection): readonly bigint[] {
  return source === undefined ? SOURCE_NUMBERS : [source]
}

function withoutSource({ source: _, ...others }: Selection): Selection {
  return others
}

/** The columns of a data point. */
const POINT_COLUMNS = columnList(fundingPeriodDataPoints)

/** The number of each of the first spans of blocks, and the first and last time of their points. */
export function spansStatement({ market }: LocatedRows, { height, to }: PositionRange): Statement {
  const values: KeyValue[] = [height / BLOCKS_OF_SPAN, to / BLOCKS_OF_SPAN]
  const ofMarket = market === null ? '' : `market = $${values.push(market)} and`
  return {
    text: `select ${textOf('blocks')}, cast(min(first_timestamp) as text), cast(max(last_timestamp) as text)
      from funding_period_block_spans
      where ${ofMarket} blocks between $1 and $2
      group by blocks
      order by blocks limit ${SPANS_AT_ONCE}`,
    values,
  }
}

/** The clauses `from` and `where` that select the points of one source; further conditions may follow. */
function pointsOf(points: PointsToRead, source: bigint, bind: (value: KeyValue) => string): string {
  if (!('spans' in points)) {
    const { market, first, last } = points
    return `from funding_period_data_points
      where market = ${bind(market)} and source = ${source}
        and timestamp between ${bind(first)} and ${bind(last)}`
  }
  // With a cross join, SQLite reads the spans first.
  return `from (${spansOfMarkets(points, bind)}) as span cross join funding_period_data_points
    where ${withinSpan(source)}`
}

const withinSpan = (source: bigint) => `funding_period_data_points.market = span.market and source = ${source}
  and timestamp between first_time and last_time`

/** First and last time of the points of each market. */
function spansOfMarkets(
  { spans, afterMarket, upToMarket }: SpansOfMarkets,
  bind: (value: KeyValue) => string,
): string {
  const end = upToMarket === null ? '' : `and market <= ${bind(upToMarket)}`
  return `select market, min(first_timestamp) as first_time, max(last_timestamp) as last_time
    from funding_period_block_spans
    where blocks between ${bind(spans[0])} and ${bind(spans[1])} and market > ${bind(afterMarket)} ${end}
    group by market`
}

/** Adds a value to those of a statement, and returns its placeholder. */
function binding(values: KeyValue[]): (value: KeyValue) => string {
  return (value) => `$${values.push(value)}`
}

/**
 * The number of points of all sources, with a `from` clause for each. Each source is counted up to one more than `most`.
 */
function countOf({ selection }: LocatedRows, most: number, clauseOf: (source: bigint) => string): string {
  const counts = sourcesOf(selection).map(
    (source) => `(select count(*) from (select 1 ${clauseOf(source)} limit ${most + 1}) as of_source)`,
  )
  return counts.join(' + ')
}

/** The number of points, of each source up to one more than `most`. */
export function countStatement(rows: LocatedRows, points: PointsToRead, most: number): Statement {
  const values: KeyValue[] = []
  const count = countOf(rows, most, (source) => pointsOf(points, source, binding(values)))
  return { text: `select ${count}`, values }
}

/**
 * The next markets: the number of each, the first and last time of its points, and how many these are, of each source up to
 * one more than {@link MAX_READ_ROWS}.
 */
export function marketsStatement(rows: LocatedRows, points: SpansOfMarkets): Statement {
  const values: KeyValue[] = []
  const count = countOf(
    rows,
    MAX_READ_ROWS,
    (source) => `from funding_period_data_points where ${withinSpan(source)}`,
  )
  return {
    text: `select ${textOf('span.market')}, cast(first_time as text), cast(last_time as text), ${count}
      from (${spansOfMarkets(points, binding(values))} order by market limit ${MARKETS_AT_ONCE}) as span
      order by span.market`,
    values,
  }
}

/**
 * The first rows by position, up to `limit`, of those of the given points that are from a range of blocks.
 *
 * @param part only these of the points; all sources without it
 */
export function pointsStatement(
  { resource, selection, market }: LocatedRows,
  { height, index, to }: PositionRange,
  points: PointsToRead,
  limit: number,
  part?: PartOfSource,
): Statement {
  const values: KeyValue[] = [height, BigInt(index), to, BigInt(limit)]
  const bind = binding(values)
  const ofAll = market === null
  // The sources are literals, so that the planner knows them.
  const bySource = (part === undefined ? sourcesOf(selection) : [part.source]).map((source) => {
    const conditions = [
      pointsOf(points, source, bind),
      '(height, event_index) > ($1, $2) and height <= $3',
      ...filterConditions({ resource, selection: withoutSource(selection) }, (name) =>
        bind(selection[name]!),
      ),
    ]
    if (part !== undefined) {
      const [after, upTo] = [part.after, part.upTo].map((key) => key.map(bind).join(', '))
      conditions.push(`(timestamp, seq) > (${after}) and (timestamp, seq) <= (${upTo})`)
    }
    const numbered = ofAll ? 'funding_period_data_points.market, ' : ''
    return `select ${numbered}timestamp, seq, source, price, twap, height, event_index
      ${conditions.join(' and ')}`
  })
  const [marketId, markets] = ofAll
    ? ['market_id, ', ' join markets on markets.market = arrived.market']
    : ['', '']
  return {
    text: `select ${POINT_COLUMNS}, ${marketId}${POSITION_COLUMNS} from (${bySource.join(' union all ')}) as arrived${markets}
      order by arrived.height, arrived.event_index limit $4`,
    values,
  }
}

/**
 * The key at which the next part of a source ends: that of its last point if {@link MAX_READ_ROWS} are read. No row if no
 * more follow than that.
 */
export function partEndStatement(
  { market, first, last }: TimesOfMarket,
  source: bigint,
  after: PointKey,
): Statement {
  return {
    text: `select ${textOf('timestamp')}, ${textOf('seq')} from funding_period_data_points
      where market = $1 and source = ${source} and timestamp between $2 and $3
        and (timestamp, seq) > ($4, $5)
      order by timestamp, seq
      limit 1 offset ${MAX_READ_ROWS - 1}`,
    values: [market, first, last, ...after],
  }
}
