import { type EventPosition, isBefore } from '../../domain/event-position.ts'
import { greatest, least, MAX_INT64, MIN_INT64 } from '../../domain/integers.ts'
import type { PositionRange } from '../../domain/unseen.ts'
import type { KeyValue, Row, Selection } from '../../model/resource.ts'
import { fundingPeriodDataPoints } from '../../resources/funding-period-data-points/description.ts'
import { BLOCKS_OF_SPAN } from '../../resources/funding-period-data-points/table.ts'
import { filtersBySpan } from '../pages/locate.ts'
import type { KeySpan } from '../pages/scan.ts'
import { columnList, filterConditions } from '../pages/scan-sql.ts'
import type { Query, Statement } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'
import {
  cutAt,
  type LocatedRows,
  MAX_READ_ROWS,
  POSITION_COLUMNS,
  type PositionedRow,
  positionedRowOf,
} from './positioned-rows.ts'

/** Number of spans of blocks whose points are read at a time. */
const SPANS_AT_ONCE = 16

/** Maximum number of markets whose points of one span of blocks are read at a time. */
const MARKETS_AT_ONCE = 64

/** The same for all markets: dividing the points of one span of blocks would take longer than reading them. */
const MAX_READ_ROWS_OF_ALL = 40_000

/** Cost of locating rows, in rows that could be read instead. */
const STATEMENTS_IN_ROWS = 100

/**
 * How far blocks with more rows than are read at a time have been read. Points are stored by time, so the first ones by
 * position are known only once all points of the blocks have been read.
 */
export type Pass = {
  /** The last of the blocks. */
  through: bigint
  /** In a stream of all markets, the number of the last market that has been read. */
  passed: bigint
  /** The market that is being read in several parts; null if markets are read whole. */
  part: MarketPart | null
  /** How many of the first rows are remembered: the limit of the pass's first query. */
  limit: number
  /** The first rows by position, of those read so far. */
  firstRows: PositionedRow[]
}

/** A market with more points in these blocks than are read at a time. */
type MarketPart = MarketSpan & {
  /** The source being read, and the last point read. */
  source: bigint
  after: readonly [timestamp: bigint, seq: bigint]
}

/** Points of one market between two times. */
type MarketSpan = { market: bigint; first: bigint; last: bigint }

export type RangeQuery = LocatedRows & { limit: number; pass: Pass | null }

/** The first rows of some blocks, the position reached, and the number of rows read. */
export type RangeRead = { rows: PositionedRow[]; reached: EventPosition; readRows: number; pass: Pass | null }

/** Reads the points of a range of blocks, between the times that the block spans give for it. */
export function* readPoints({ limit, pass, ...asked }: RangeQuery, range: PositionRange): Query<RangeRead> {
  if (pass !== null) return yield* continuePass(pass, asked, range)
  const spans = yield spansStatement(asked, range)
  if (spans.length === 0) {
    return { ...cutAt(limit, [], range.to), readRows: STATEMENTS_IN_ROWS, pass: null }
  }
  const { through, area, isTooLong, countedRows } = yield* spansThatFit(spans, limit, asked, range)
  if (isTooLong) {
    const part = 'spans' in area ? null : partOf(area, asked.selection)
    return yield* continuePass({ through, passed: 0n, part, limit, firstRows: [] }, asked, range)
  }
  const rows = yield pointsStatement(asked, { ...range, to: through }, area, limit + 1)
  const readRows = STATEMENTS_IN_ROWS + countedRows
  return { ...cutAt(limit, rows.map(positionedRowOf(asked)), through), readRows, pass: null }
}

/** Blocks whose points are read at a time. */
type SpansAtOnce = {
  /** The last of the blocks. */
  through: bigint
  area: Area
  /** Whether they have more points than are read at a time, although they are those of a single span. */
  isTooLong: boolean
  /** Number of rows read to count the points. */
  countedRows: number
}

/**
 * Chooses the first spans of blocks whose points can be read at a time: all of them, a quarter of them, and so on down to
 * one.
 */
function* spansThatFit(
  spans: readonly Row[],
  limit: number,
  asked: LocatedRows,
  range: PositionRange,
): Query<SpansAtOnce> {
  // Without a filter nearly all points that are read are sent: twice the requested number is enough.
  const isDense = filtersBySpan(asked.resource, asked.selection).length === 0
  const mostOfSeveral = isDense ? Math.min(2 * limit, MAX_READ_ROWS) : MAX_READ_ROWS
  const mostOfOne = asked.market === null ? MAX_READ_ROWS_OF_ALL : MAX_READ_ROWS
  let countedRows = 0
  for (let count = spans.length; ; count = Math.ceil(count / 4)) {
    const isComplete = spans.length < SPANS_AT_ONCE && count === spans.length
    const { through, first, last } = rangeOfSpans(spans.slice(0, count), isComplete, range)
    const area: Area =
      asked.market === null
        ? { spans: spanNumbers(range, through), passed: 0n, upTo: null }
        : within(asked.span, { market: asked.market, first, last })
    const most = count > 1 ? mostOfSeveral : mostOfOne
    const [[total]] = (yield countStatement(asked, area, most)) as [Row]
    const points = Number(total)
    countedRows += points
    if (points <= most || count === 1) return { through, area, isTooLong: points > most, countedRows }
  }
}

/** The points of a market that are also within a period's span. */
function within(period: KeySpan | null, { market, first, last }: MarketSpan): MarketSpan {
  if (period === null) return { market, first, last }
  return { market, first: greatest([first, period.first]), last: least([last, period.last]) }
}

/** The beginning of a market that is read in parts. */
function partOf(span: MarketSpan, selection: Selection): MarketPart {
  const [source] = sourcesOf(selection) as [bigint]
  return { ...span, source, after: BEFORE_ALL }
}

/** Reads the next rows of a pass; the first rows by position are returned at its end. */
function* continuePass(pass: Pass, asked: LocatedRows, range: PositionRange): Query<RangeRead> {
  if (pass.part === null) return yield* continueWithMarkets(pass, asked, range)
  const { part } = pass
  const [next] = yield windowStatement(part)
  const upTo = next === undefined ? BEYOND_ALL : ([BigInt(next[0]!), BigInt(next[1]!)] as const)
  const firstRows = yield* readFirstRows(pass, asked, range, part, { ...part, upTo })
  if (next !== undefined) return continuing({ ...pass, firstRows, part: { ...part, after: upTo } }, range)
  const sources = sourcesOf(asked.selection)
  const source = sources[sources.indexOf(part.source) + 1]
  if (source !== undefined)
    return continuing({ ...pass, firstRows, part: { ...part, source, after: BEFORE_ALL } }, range)
  if (asked.market !== null) return finished({ ...pass, firstRows })
  return continuing({ ...pass, firstRows, part: null, passed: part.market }, range)
}

/** Reads the next markets, at most MAX_READ_ROWS rows; a market with more is read in parts. */
function* continueWithMarkets(pass: Pass, asked: LocatedRows, range: PositionRange): Query<RangeRead> {
  const spans = spanNumbers(range, pass.through)
  const markets = yield marketsStatement(asked, { spans, passed: pass.passed, upTo: null })
  if (markets.length === 0) return finished(pass)
  let count = 0
  for (let total = 0; count < markets.length; count++) {
    total += Number(markets[count]!.at(-1))
    if (total > MAX_READ_ROWS) break
  }
  if (count === 0) {
    const [market, first, last] = markets[0]!.map((value) => BigInt(value!)) as [bigint, bigint, bigint]
    return continuing({ ...pass, part: partOf({ market, first, last }, asked.selection) }, range)
  }
  const upTo = BigInt(markets[count - 1]![0]!)
  const firstRows = yield* readFirstRows(pass, asked, range, { spans, passed: pass.passed, upTo })
  const done = { ...pass, firstRows, passed: upTo }
  return count < MARKETS_AT_ONCE && count === markets.length ? finished(done) : continuing(done, range)
}

/** The first rows by position of those that the pass has read and of a further area. */
function* readFirstRows(
  { limit, through, firstRows }: Pass,
  asked: LocatedRows,
  range: PositionRange,
  area: Area,
  window?: Window,
): Query<PositionedRow[]> {
  const rows = yield pointsStatement(asked, { ...range, to: through }, area, limit + 1, window)
  return [...firstRows, ...rows.map(positionedRowOf(asked))]
    .toSorted((a, b) => (isBefore(a.position, b.position) ? -1 : 1))
    .slice(0, limit + 1)
}

function continuing(pass: Pass, reached: PositionRange): RangeRead {
  return { rows: [], reached, readRows: MAX_READ_ROWS, pass }
}

function finished({ limit, firstRows, through }: Pass): RangeRead {
  return { ...cutAt(limit, firstRows, through), readRows: MAX_READ_ROWS, pass: null }
}

/** The points of one market between two times, or those of spans of blocks, of the markets after `passed` up to `upTo`. */
type Area =
  | MarketSpan
  | { spans: readonly [first: bigint, last: bigint]; passed: bigint; upTo: bigint | null }

/** The numbers of the first and the last span of blocks. */
const spanNumbers = ({ height }: PositionRange, through: bigint) =>
  [height / BLOCKS_OF_SPAN, through / BLOCKS_OF_SPAN] as const

/** The last block of these spans, and the first and last time of their points. */
function rangeOfSpans(spans: readonly Row[], isComplete: boolean, { to }: PositionRange) {
  const first = least(spans.map(([, from]) => BigInt(from!)))
  const last = greatest(spans.map(([, , upTo]) => BigInt(upTo!)))
  const end = (BigInt(spans.at(-1)![0]!) + 1n) * BLOCKS_OF_SPAN - 1n
  return { through: isComplete || end > to ? to : end, first, last }
}

/** The sources of a selection. Each is a range of its own, because the key begins with the source. */
function sourcesOf({ source }: Selection): readonly bigint[] {
  return source === undefined ? [0n, 1n, 2n] : [source]
}

function withoutSource({ source: _, ...others }: Selection): Selection {
  return others
}

const BEFORE_ALL = [MIN_INT64, MIN_INT64] as const
const BEYOND_ALL = [MAX_INT64, MAX_INT64] as const

/** The columns of a data point. */
const POINT_COLUMNS = columnList(fundingPeriodDataPoints)

/** The first and last time of the points in each of the first spans of blocks. */
function spansStatement({ market }: LocatedRows, { height, to }: PositionRange): Statement {
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

/** The clauses `from` and `where` that select an area's points of one source; further conditions may follow. */
function pointsOf(area: Area, source: bigint, bind: (value: KeyValue) => string): string {
  if (!('spans' in area)) {
    const { market, first, last } = area
    return `from funding_period_data_points
      where market = ${bind(market)} and source = ${source}
        and timestamp between ${bind(first)} and ${bind(last)}`
  }
  // With a cross join, SQLite reads the spans first.
  return `from (${spansOfMarkets(area, bind)}) as span cross join funding_period_data_points
    where ${withinSpan(source)}`
}

const withinSpan = (source: bigint) => `funding_period_data_points.market = span.market and source = ${source}
  and timestamp between first_time and last_time`

/** First and last time of the points of each market of an area. */
function spansOfMarkets(
  { spans, passed, upTo }: Exclude<Area, MarketSpan>,
  bind: (value: KeyValue) => string,
): string {
  const end = upTo === null ? '' : `and market <= ${bind(upTo)}`
  return `select market, min(first_timestamp) as first_time, max(last_timestamp) as last_time
    from funding_period_block_spans
    where blocks between ${bind(spans[0])} and ${bind(spans[1])} and market > ${bind(passed)} ${end}
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

/** Number of points in an area. */
function countStatement(asked: LocatedRows, area: Area, most: number): Statement {
  const values: KeyValue[] = []
  const count = countOf(asked, most, (source) => pointsOf(area, source, binding(values)))
  return { text: `select ${count}`, values }
}

/** The next markets of an area, with the first and last time of their points, and their numbers of points as above. */
function marketsStatement(asked: LocatedRows, area: Exclude<Area, MarketSpan>): Statement {
  const values: KeyValue[] = []
  const count = countOf(
    asked,
    MAX_READ_ROWS,
    (source) => `from funding_period_data_points where ${withinSpan(source)}`,
  )
  return {
    text: `select ${textOf('span.market')}, cast(first_time as text), cast(last_time as text), ${count}
      from (${spansOfMarkets(area, binding(values))} order by market limit ${MARKETS_AT_ONCE}) as span
      order by span.market`,
    values,
  }
}

/** A source's points after one key, up to another one. */
type Window = Pick<MarketPart, 'source' | 'after'> & { upTo: MarketPart['after'] }

/** The first points of some blocks within an area and, if given, a window. */
function pointsStatement(
  { resource, selection, market }: LocatedRows,
  { height, index, to }: PositionRange,
  area: Area,
  limit: number,
  window?: Window,
): Statement {
  const values: KeyValue[] = [height, BigInt(index), to, BigInt(limit)]
  const bind = binding(values)
  const ofAll = market === null
  // The sources are literals, so that the planner knows them.
  const parts = (window === undefined ? sourcesOf(selection) : [window.source]).map((source) => {
    const conditions = [
      pointsOf(area, source, bind),
      '(height, event_index) > ($1, $2) and height <= $3',
      ...filterConditions({ resource, selection: withoutSource(selection) }, (name) =>
        bind(selection[name]!),
      ),
    ]
    if (window !== undefined) {
      const [after, upTo] = [window.after, window.upTo].map((key) => key.map(bind).join(', '))
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
    text: `select ${POINT_COLUMNS}, ${marketId}${POSITION_COLUMNS} from (${parts.join(' union all ')}) as arrived${markets}
      order by arrived.height, arrived.event_index limit $4`,
    values,
  }
}

/** The key of the last point that is read at a time; no row if no more follow. */
function windowStatement({ market, source, first, last, after }: MarketPart): Statement {
  return {
    text: `select ${textOf('timestamp')}, ${textOf('seq')} from funding_period_data_points
      where market = $1 and source = ${source} and timestamp between $2 and $3
        and (timestamp, seq) > ($4, $5)
      order by timestamp, seq
      limit 1 offset ${MAX_READ_ROWS - 1}`,
    values: [market, first, last, ...after],
  }
}
