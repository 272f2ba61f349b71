import { type Coverage, coverageOfResource, GapList } from '../../domain/coverage.ts'
import { greatest, least, MAX_INT64, MIN_INT64 } from '../../domain/integers.ts'
import { heldOf, type Lacks, type PlaceRange } from '../../domain/lacks.ts'
import { isBefore, type Place } from '../../domain/place.ts'
import { fundingPeriodDataPoints } from '../../resources/funding-period-data-points/description.ts'
import { BLOCKS_OF_SPAN } from '../../resources/funding-period-data-points/table.ts'
import type { Key, KeyValue, Resource, Row, Selection } from '../../resources/resource.ts'
import { type Located, locateRows } from '../pages/locate.ts'
import type { Reading } from '../pages/page.ts'
import { type KeySpan, selectsNothing } from '../pages/scan.ts'
import { columnList, filterConditions, fromClause, selectionConditions } from '../pages/scan-sql.ts'
import type { Statement } from '../pages/statement.ts'
import { readCoverage, readPosition } from './coverage.ts'

/** Runs of blocks whose points are read at a time. */
const SPANS_AT_ONCE = 16

/**
 * Rows that are read at a time, found or not; a few times as many may be if the blocks of one run hold more. What
 * else waits for the database has its turn after them.
 */
export const MAX_READ_ROWS = 10_000

/** What finding out where rows are costs, in rows that could be read instead. */
const STATEMENTS_IN_ROWS = 100

/** Asks for the rows that a follower has not received yet, in order of arrival. */
export type ArrivalQuery = {
  resource: Resource
  selection: Selection
  lacks: Lacks
  /** The coverage to assume, if not that of the snapshot. */
  asOf: Coverage | null
  /** Rows that may come at most. */
  limit: number
  /** The unfinished pass of the previous answer; the query continues after it, with the same coverage. */
  pass: Pass | null
}

/** What one snapshot answers to an {@link ArrivalQuery}. */
export type Arrivals = {
  /** The coverage of the snapshot, or the assumed one. */
  coverage: Coverage
  rows: ArrivedRow[]
  /** The place up to which rows have been read; null if all have. */
  reached: Place | null
  /**
   * The reading position within blocks with more rows than are read at a time; none of their rows has been returned
   * yet.
   */
  pass: Pass | null
}

/** A row and the event that it comes from. */
export type ArrivedRow = { row: Row; place: Place }

/**
 * How far blocks have been read that hold more rows than are read at a time. Points lie in the order of their times,
 * so that the first ones by event are known only once all have been looked at.
 */
export type Pass = {
  /** The last of the blocks, and the times that their points lie between. */
  through: bigint
  first: bigint
  last: bigint
  /** The source being read, and the point up to which it has been. */
  source: bigint
  after: readonly [timestamp: bigint, seq: bigint]
  /** How many of the first rows are kept: the limit of the query that it began with. */
  limit: number
  /** The first rows by event, of those looked at so far. */
  found: ArrivedRow[]
}

/**
 * Reads rows by when they came; null in an empty store, or one that holds less than `asOf`: a replica that lags, or a
 * store that has been put back. Reading stops after rows read, not found: the next query continues from there.
 */
export function* readArrivals(query: ArrivalQuery): Reading<Arrivals | null> {
  const { resource, selection, lacks, limit, pass } = query
  let coverage = query.asOf
  if (coverage === null) {
    const held = yield* readCoverage()
    if (held === null) return null
    coverage = coverageOfResource(held, resource.name)
  } else {
    const position = yield* readPosition()
    if (position === null || BigInt(position.height) < coverage.height) return null
  }
  const found: ArrivedRow[] = []
  if (limit === 0 || selectsNothing(resource, selection))
    return { coverage, rows: found, reached: null, pass: null }
  // A gap that has been filled since is not held yet: its rows come when it is.
  const missing = new GapList(coverage.gaps.filter(({ kind }) => kind === 'missing'))
  const located = yield* locateRows(resource, selection)
  if (located === null) return { coverage, rows: found, reached: null, pass: null }
  const asked = { resource, selection, ...located }
  let going = pass
  let readRows = 0
  for (const range of heldOf(lacks, coverage)) {
    let from: Place = range
    while (from.height <= range.to) {
      const part: RangeRead = yield* readRange(
        { ...asked, limit: limit - found.length, pass: going },
        { ...from, to: range.to },
      )
      going = null
      found.push(...part.rows.filter(({ place }) => !missing.has(place.height)))
      if (part.pass !== null) {
        // Rows already found are sent first: a pass begins at the query's own reading position.
        const isFirst = found.length === 0
        return { coverage, rows: found, reached: from, pass: isFirst ? part.pass : null }
      }
      readRows += part.readRows
      from = part.reached
      const isAtEnd = from.height > range.to && range.to >= coverage.height
      if ((found.length >= limit || readRows >= MAX_READ_ROWS) && !isAtEnd) {
        return { coverage, rows: found, reached: from, pass: null }
      }
    }
  }
  return { coverage, rows: found, reached: null, pass: null }
}

/** The selection, and where its rows lie. */
type Asked = Located & { resource: Resource; selection: Selection }

type RangeQuery = Asked & Pick<ArrivalQuery, 'limit' | 'pass'>

/** The first rows of some blocks, how far these have been read, and how many rows that took. */
type RangeRead = { rows: ArrivedRow[]; reached: Place; readRows: number; pass: Pass | null }

function* readRange(query: RangeQuery, range: PlaceRange): Reading<RangeRead> {
  if (query.resource.storage.arrivals !== 'all rows') return yield* readPoints(query, range)
  const { limit, resource } = query
  const rows = (yield rowsStatement(query, range, limit + 1)).map(arrivedRow)
  const [last, next] = [rows[limit - 1], rows[limit]]
  const { rows: kept, reached } = cutAt(limit, rows, range.to)
  const isTorn = next !== undefined && isSameEvent(last!.place, next.place)
  return {
    ...{ rows: kept, readRows: rows.length, pass: null },
    reached: isTorn ? placeWithin(resource, last!) : reached,
  }
}

export const isSameEvent = (a: Place, b: Place) => a.height === b.height && a.index === b.index

/** The columns that tell the rows of one event apart: ids of the key. */
export const idColumns = ({ key }: Resource) =>
  key.filter(({ type }) => type === 'id').map(({ column }) => column)

/** The position after a row and before the next one of its event. */
export function placeWithin(resource: Resource, { row, place: { height, index } }: ArrivedRow): Place {
  const ids = resource.key.flatMap(({ type }, at) => (type === 'id' ? [String(row[at])] : []))
  return { height, index: index - 1, within: ids }
}

function* readPoints({ limit, pass, ...asked }: RangeQuery, range: PlaceRange): Reading<RangeRead> {
  if (pass !== null) return yield* continuePass(pass, asked, range)
  const { selection, span } = asked
  const spans = yield spansStatement(asked, range)
  let readRows = STATEMENTS_IN_ROWS
  if (spans.length === 0) return { ...cutAt(limit, [], range.to), readRows, pass: null }
  // Of points that are nearly all sent, few more are read than are asked for.
  const enough = span === null ? Math.min(2 * limit, MAX_READ_ROWS) : MAX_READ_ROWS
  for (let count = spans.length; ; count = Math.ceil(count / 4)) {
    const isWhole = spans.length < SPANS_AT_ONCE && count === spans.length
    const part = within(span, rangeOfSpans(spans.slice(0, count), isWhole, range))
    const [[total]] = (yield countStatement(asked, part)) as [Row]
    readRows += Number(total)
    if (count > 1 && Number(total) > enough) continue
    if (Number(total) > MAX_READ_ROWS) {
      const [source] = sourcesOf(selection) as [bigint]
      return yield* continuePass({ ...part, source, after: BEFORE_ALL, limit, found: [] }, asked, range)
    }
    const rows = yield pointsStatement(asked, { ...range, to: part.through }, part, limit + 1)
    return { ...cutAt(limit, rows.map(arrivedRow), part.through), readRows, pass: null }
  }
}

/** Blocks with the times that a period's points among theirs lie between. */
function within(period: KeySpan | null, { through, first, last }: PassRange): PassRange {
  if (period === null) return { through, first, last }
  return { through, first: greatest([first, period.first]), last: least([last, period.last]) }
}

/** Looks at the next rows of a pass; the rows come with the last ones. */
function* continuePass(pass: Pass, asked: Asked, range: PlaceRange): Reading<RangeRead> {
  const { limit } = pass
  const blocks = { ...range, to: pass.through }
  const [next] = yield windowStatement(asked, pass)
  const upTo = next === undefined ? BEYOND_ALL : ([BigInt(next[0]!), BigInt(next[1]!)] as const)
  const rows = yield pointsStatement(asked, blocks, pass, limit + 1, { ...pass, upTo })
  const found = [...pass.found, ...rows.map(arrivedRow)]
    .toSorted((a, b) => (isBefore(a.place, b.place) ? -1 : 1))
    .slice(0, limit + 1)
  const readRows = MAX_READ_ROWS
  const going = { rows: [], reached: range, readRows }
  if (next !== undefined) return { ...going, pass: { ...pass, after: upTo, found } }
  const sources = sourcesOf(asked.selection)
  const source = sources[sources.indexOf(pass.source) + 1]
  if (source !== undefined) return { ...going, pass: { ...pass, source, after: BEFORE_ALL, found } }
  return { ...cutAt(limit, found, pass.through), readRows, pass: null }
}

/** The rows up to a limit, and the place that they reach: the end of a block if none is left. */
function cutAt(limit: number, rows: ArrivedRow[], through: bigint): Pick<RangeRead, 'rows' | 'reached'> {
  if (rows.length <= limit) return { rows, reached: { height: through + 1n, index: 0 } }
  const kept = rows.slice(0, limit)
  return { rows: kept, reached: kept.at(-1)!.place }
}

/** Blocks that are read at once, and between which times their points lie. */
type PassRange = Pick<Pass, 'through' | 'first' | 'last'>

function rangeOfSpans(spans: readonly Row[], isWhole: boolean, { to }: PlaceRange): PassRange {
  const first = least(spans.map(([, from]) => BigInt(from!)))
  const last = greatest(spans.map(([, , upTo]) => BigInt(upTo!)))
  const end = (BigInt(spans.at(-1)![0]!) + 1n) * BLOCKS_OF_SPAN - 1n
  return { through: isWhole || end > to ? to : end, first, last }
}

/** The key begins with the source: one range for each. */
function sourcesOf({ source }: Selection): readonly bigint[] {
  return source === undefined ? [0n, 1n, 2n] : [source]
}

function withoutRun({ source: _, ...others }: Selection): Selection {
  return others
}

const BEFORE_ALL = [MIN_INT64, MIN_INT64] as const
const BEYOND_ALL = [MAX_INT64, MAX_INT64] as const

const PLACE_COLUMNS = 'cast(height as text), event_index'
/** The columns of a data point. */
const POINT_COLUMNS = columnList(fundingPeriodDataPoints)

/** Between which times the points of the first runs of blocks lie. */
function spansStatement({ market }: Asked, { height, to }: PlaceRange): Statement {
  return {
    text: `select cast(blocks as text), cast(first_timestamp as text), cast(last_timestamp as text)
      from funding_period_block_spans
      where market = $1 and blocks between $2 and $3
      order by funding_period_block_spans.blocks limit ${SPANS_AT_ONCE}`,
    values: [market!, height / BLOCKS_OF_SPAN, to / BLOCKS_OF_SPAN],
  }
}

/** The first rows of some blocks among all rows of a selection. */
function rowsStatement(asked: Asked, { height, index, within, to }: PlaceRange, limit: number): Statement {
  const { resource, selection, market } = asked
  const { table } = resource.storage
  const values: KeyValue[] = [height, BigInt(within === undefined ? index : index + 1), to, BigInt(limit)]
  const ids = idColumns(resource).map((column) => `${table}.${column}`)
  const after = within === undefined ? [] : within.map((id) => `$${values.push(id)}`)
  const compared = ['height', 'event_index', ...(within === undefined ? [] : ids)]
  const conditions = selectionConditions(
    asked,
    (name) => `$${values.push(name === 'market' ? market! : selection[name]!)}`,
  )
  conditions.push(`(${compared.join(', ')}) > (${['$1', '$2', ...after].join(', ')}) and height <= $3`)
  return {
    text: `select ${columnList(resource)}, ${PLACE_COLUMNS} from ${fromClause(resource)}
      where ${conditions.join(' and ')}
      order by ${[`${table}.height`, `${table}.event_index`, ...ids].join(', ')} limit $4`,
    values,
  }
}

/** How many points lie between two times; of each source no more are counted than one too many. */
function countStatement({ selection, market }: Asked, { first, last }: PassRange): Statement {
  const counts = sourcesOf(selection).map(
    (source) => `(select count(*) from (select 1 from funding_period_data_points
      where market = $1 and source = ${source} and timestamp between $2 and $3
      limit ${MAX_READ_ROWS + 1}) as of_source)`,
  )
  return { text: `select ${counts.join(' + ')}`, values: [market!, first, last] }
}

/** A source's points from one key on up to another one. */
type Window = Pick<Pass, 'source' | 'after'> & { upTo: Pass['after'] }

/** A market's points of some blocks, which are known to lie between two times; or those of them in a window. */
function pointsStatement(
  { resource, selection, market }: Asked,
  { height, index, to }: PlaceRange,
  { first, last }: PassRange,
  limit: number,
  window?: Window,
): Statement {
  const values: KeyValue[] = [market!, height, BigInt(index), to, first, last, BigInt(limit)]
  const bind = (value: KeyValue) => `$${values.push(value)}`
  const conditions = [
    'timestamp between $5 and $6 and (height, event_index) > ($2, $3) and height <= $4',
    ...filterConditions({ resource, selection: withoutRun(selection) }, (name) => bind(selection[name]!)),
  ]
  if (window !== undefined) {
    const [after, upTo] = [window.after, window.upTo].map((key) => key.map(bind).join(', '))
    conditions.push(`(timestamp, seq) > (${after}) and (timestamp, seq) <= (${upTo})`)
  }
  // Sources as literals, so that the planner knows them.
  const parts = (window === undefined ? sourcesOf(selection) : [window.source]).map(
    (
      source,
    ) => `select timestamp, seq, source, price, twap, height, event_index from funding_period_data_points
      where market = $1 and source = ${source} and ${conditions.join(' and ')}`,
  )
  return {
    text: `select ${POINT_COLUMNS}, ${PLACE_COLUMNS} from (${parts.join(' union all ')}) as arrived
      order by arrived.height, arrived.event_index limit $7`,
    values,
  }
}

/** The last of the points that are read at a time, by its key; none if no more are left. */
function windowStatement({ market }: Asked, { source, first, last, after }: Pass): Statement {
  return {
    text: `select cast(timestamp as text), cast(seq as text) from funding_period_data_points
      where market = $1 and source = ${source} and timestamp between $2 and $3
        and (timestamp, seq) > ($4, $5)
      order by funding_period_data_points.timestamp, funding_period_data_points.seq
      limit 1 offset ${MAX_READ_ROWS - 1}`,
    values: [market!, first, last, ...after],
  }
}

/** The statement that gives the place which the row of a key comes from: one row, or none. */
function placeStatement(
  resource: Resource,
  { marketId }: Selection,
  key: Key,
  market: bigint | null,
): Statement {
  const values: KeyValue[] = [...key]
  const conditions = resource.key.map(({ column }, index) => `${column} = $${index + 1}`)
  if (market !== null) conditions.push(`market = $${values.push(market)}`)
  else if (resource.scope !== null) conditions.push(`market_id = $${values.push(marketId!)}`)
  return {
    text: `select ${PLACE_COLUMNS} from ${fromClause(resource)} where ${conditions.join(' and ')}`,
    values,
  }
}

/** The event that a row comes from, by the row's key; null if there is no such row. */
export function* readPlace(resource: Resource, selection: Selection, key: Key): Reading<Place | null> {
  const located = yield* locateRows(resource, selection)
  if (located === null) return null
  const [row] = yield placeStatement(resource, selection, key, located.market)
  return row === undefined ? null : placeOf(row)
}

const placeOf = ([height, index]: Row): Place => ({ height: BigInt(height!), index: Number(index) })

function arrivedRow(row: Row): ArrivedRow {
  return { row, place: placeOf(row.slice(-2)) }
}
