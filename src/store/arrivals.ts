import { type Coverage, GapList } from '../domain/coverage.ts'
import { heldOf, type Lacks, type Place, type PlaceRange } from '../domain/lacks.ts'
import type { Key, Resource, Row, Selection } from '../resources/resource.ts'
import { BLOCKS_OF_SPAN } from './block-spans.ts'
import type { Statement } from './page-statement.ts'
import { PAGE_TABLES } from './page-tables.ts'
import { selectsNothing } from './scan.ts'

/** Runs of blocks whose points are read at a time. */
const SPANS_AT_ONCE = 16

/** Asks for the rows of what a follower lacks, in the order in which they came. */
export type ArrivalQuery = {
  /** One whose rows keep the place that they come from: not the providers. */
  resource: Resource
  selection: Selection
  lacks: Lacks
  /** What is taken to be held, where that is not what the snapshot holds. */
  asOf: Coverage | null
  /** Rows from which on no more are read: a few more than this many may come. */
  limit: number
}

/** What one snapshot answers to an {@link ArrivalQuery}. */
export type Arrivals = {
  /** What the snapshot holds. */
  coverage: Coverage
  rows: ArrivedRow[]
  /** The place up to which rows have been read; null where all have. */
  reached: Place | null
}

/** A row and the event that it comes from. */
export type ArrivedRow = { row: Row; place: Place }

/**
 * The statements that answer an {@link ArrivalQuery} in one snapshot, one after another: each is yielded and wants
 * its rows.
 */
export function* readArrivals(
  { resource, selection, lacks, asOf, limit }: ArrivalQuery,
  coverage: Coverage,
): Generator<Statement, Arrivals, Row[]> {
  const found: ArrivedRow[] = []
  if (selectsNothing(selection)) return { coverage, rows: found, reached: null }
  // A gap that has been filled since is not held yet: its rows come when it is.
  const missing = new GapList((asOf?.gaps ?? []).filter(({ kind }) => kind === 'missing'))
  for (const range of heldOf(lacks, asOf ?? coverage)) {
    let from: Place = range
    while (from.height <= range.to) {
      const part: RangeRead = yield* readRange(resource, selection, { ...from, to: range.to })
      found.push(...part.rows.map(arrivedRow).filter(({ place }) => !missing.has(place.height)))
      from = { height: part.through + 1n, index: 0 }
      if (found.length >= limit && (from.height <= range.to || range.to < (asOf ?? coverage).height)) {
        return { coverage, rows: found, reached: from }
      }
    }
  }
  return { coverage, rows: found, reached: null }
}

/** The rows of some blocks, and the last of these blocks. */
type RangeRead = { rows: Row[]; through: bigint }

function* readRange(
  { name }: Resource,
  selection: Selection,
  range: PlaceRange,
): Generator<Statement, RangeRead, Row[]> {
  if (name !== 'fundingPeriodDataPoints') {
    return { rows: yield checkpointsStatement(range), through: range.to }
  }
  const spans = yield {
    text: SPANS,
    values: [
      selection.marketId!,
      range.height / BLOCKS_OF_SPAN,
      range.to / BLOCKS_OF_SPAN,
      BigInt(SPANS_AT_ONCE),
    ],
  }
  const times = spans.map(([, first, last]) => [BigInt(first!), BigInt(last!)] as const)
  const last = spans.at(-1)
  if (last === undefined) return { rows: [], through: range.to }
  const end = (BigInt(last[0]!) + 1n) * BLOCKS_OF_SPAN - 1n
  const through = spans.length < SPANS_AT_ONCE || end > range.to ? range.to : end
  const first = times.reduce((least, [time]) => (time < least ? time : least), times[0]![0])
  const latest = times.reduce((most, [, time]) => (time > most ? time : most), times[0]![1])
  return { rows: yield pointsStatement(selection, { ...range, to: through }, first, latest), through }
}

const PLACE_COLUMNS = 'cast(height as text), event_index'
const MARKET = '(select market from markets where market_id = $1)'

const SPANS = `
  select cast(blocks as text), cast(first_timestamp as text), cast(last_timestamp as text)
  from funding_period_block_spans
  where market = ${MARKET} and blocks between $2 and $3
  order by funding_period_block_spans.blocks limit $4`

function checkpointsStatement({ height, index, to }: PlaceRange): Statement {
  return {
    text: `select ${PAGE_TABLES.checkpoints.columns}, ${PLACE_COLUMNS} from checkpoints
      where (height, event_index) > ($1, $2) and height <= $3
      order by checkpoints.height, checkpoints.event_index`,
    values: [height, BigInt(index), to],
  }
}

/** A market's points of some blocks, which are known to lie between two times. */
function pointsStatement(
  { marketId, source, seq }: Selection,
  { height, index, to }: PlaceRange,
  first: bigint,
  last: bigint,
): Statement {
  // The key has the source in front: one range of it for each, as literals, so that the planner knows them.
  const sources = source === undefined ? [0n, 1n, 2n] : [source]
  const values = [marketId!, height, BigInt(index), to, first, last]
  if (seq !== undefined) values.push(seq)
  const parts = sources.map(
    (of) => `select timestamp, seq, source, price, twap, height, event_index from funding_period_data_points
      where market = ${MARKET} and source = ${of} and timestamp between $5 and $6
        and (height, event_index) > ($2, $3) and height <= $4 ${seq === undefined ? '' : 'and seq = $7'}`,
  )
  return {
    text: `select ${PAGE_TABLES.fundingPeriodDataPoints.columns}, ${PLACE_COLUMNS} from (${parts.join(' union all ')}) as arrived
      order by arrived.height, arrived.event_index`,
    values,
  }
}

/** The statement that gives the place which the row of a key comes from: one row, or none. */
export function placeStatement({ name }: Resource, { marketId }: Selection, key: Key): Statement {
  if (name !== 'fundingPeriodDataPoints') {
    return {
      text: `select ${PLACE_COLUMNS} from checkpoints where at_block = $1 and hash = $2`,
      values: [...key],
    }
  }
  return {
    text: `select ${PLACE_COLUMNS} from funding_period_data_points
      where market = ${MARKET} and timestamp = $2 and seq = $3 and source = $4`,
    values: [marketId!, ...key],
  }
}

/** The place that a row of {@link placeStatement} names; null where there is none. */
export function placeOf(row: Row | undefined): Place | null {
  return row === undefined ? null : { height: BigInt(row[0]!), index: Number(row[1]) }
}

function arrivedRow(row: Row): ArrivedRow {
  return { row, place: placeOf(row.slice(-2))! }
}
