import { firstGapFrom, type HeightRange, rangesOf } from '../../domain/coverage.ts'
import { MIN_INT64, nearestInt64 } from '../../domain/integers.ts'
import { hasBlock, noBlockInSql, SET_START_UNPLACED, SET_UNPLACED } from '../../domain/place.ts'
import { cutToMicrosecond, MICROSECOND } from '../../domain/time.ts'
import type { PointRow } from '../../resources/funding-period-data-points/table.ts'
import type { Row } from '../../resources/resource.ts'
import { holdSpans, READ_MARKET_IDS } from '../pruning/prune-statements.ts'
import { type SeriesRun, SOURCES } from '../readings/counted-points.ts'
import { BLOCKS_OF_SPAN } from './block-spans.ts'
import type { Steps, Values } from './steps.ts'

/*
 * What an import has brought for a block goes when the block's events come. Within the block an import knows the order of
 * checkpoints and provider lists alone; indices of its other rows are made up, and times are cut to microseconds.
 */

/** Tables of which a block's event writes again every row that an import has brought for the block. */
const STATES = ['liquidity_provisions', 'instruments', 'assets'] as const

const UNPLACE = STATES.map((table) => `update ${table} set ${SET_UNPLACED} where height between $1 and $2`)

const UNPLACE_STARTS = `
  update funding_periods set ${SET_START_UNPLACED} where start_height between $1 and $2`

const UNDO_ENDS = `
  update funding_periods set end_timestamp = null, funding_payment = null, funding_rate = null,
    internal_twap = null, external_twap = null, height = start_height, event_index = start_index
  where height between $1 and $2`

/** Between which times the imported points of some runs of blocks lie, of one source of a market: one range of the key. */
const READ_TIMES = `
  select cast(min(first_timestamp) as text), cast(max(last_timestamp) as text)
  from funding_period_imported_spans
  where market = $1 and source = $2 and blocks between $3 and $4`

const DELETE_POINTS = `
  delete from funding_period_data_points
  where market = $1 and source = $2 and timestamp between $3 and $4 and height between $5 and $6
  returning cast(seq as text), cast(timestamp as text)`

const DELETE_SPANS = `
  delete from funding_period_imported_spans
  where market = $1 and source = $2 and blocks between $3 and $4`

/** An unplaced point, by the time of the event that it comes from. */
const DELETE_UNPLACED_POINT = `
  delete from funding_period_data_points
  where market = $1 and source = $2 and timestamp = $3 and seq = $4 and ${noBlockInSql('height')}
  returning cast(seq as text), cast(timestamp as text)`

/** Returns a row if there is a point with more digits of its time, which an import cuts off. */
const READ_EXACT = `
  select 1 from funding_period_data_points
  where market = $1 and source = $2 and timestamp > $3 and timestamp <= $4 and seq = $5 limit 1`

/** Points that have been deleted, by their run. */
export type GonePoints = Map<string, { run: SeriesRun; seqs: bigint[]; times: bigint[] }>

/** Deletes imported rows of blocks whose events replace them; points have separate steps. */
export function* undoImportedRows(heights: readonly bigint[]): Steps {
  const values = rangesOf(heights).map(({ from, to }) => [from, to])
  for (const text of [...UNPLACE, UNPLACE_STARTS, UNDO_ENDS]) yield { text, values }
}

/** Deletes the points that an import brought for some blocks; returns the runs that it had points of about there. */
export function* deleteImportedPoints(heights: readonly bigint[], gone: GonePoints): Steps<SeriesRun[]> {
  const [markets = []] = yield { text: READ_MARKET_IDS, values: [[]] }
  const all = markets.flatMap(([market]) =>
    SOURCES.map((source): SeriesRun => ({ market: BigInt(market!), source })),
  )
  const withPoints = new Set<SeriesRun>()
  for (const { from, to } of rangesOf(heights)) {
    const blocks = [from / BLOCKS_OF_SPAN, to / BLOCKS_OF_SPAN]
    const found = yield { text: READ_TIMES, values: all.map((run) => [...cells(run), ...blocks]) }
    for (const [index, run] of all.entries()) {
      const [[first = null, last = null] = []] = found[index]!
      if (first === null || last === null) continue
      withPoints.add(run)
      const times = [BigInt(first), BigInt(last)] as const
      // Also done by pruning, which may run at the same time.
      yield holdSpans(run, ...times)
      const [points = []] = yield { text: DELETE_POINTS, values: [[...cells(run), ...times, from, to]] }
      addGone(gone, run, points)
    }
  }
  return [...withPoints]
}

const cells = ({ market, source }: SeriesRun): bigint[] => [market, source]

/**
 * Deletes imported points of unknown block if their events are among the points to be written: an event's time has more
 * digits.
 */
export function* deleteUnplacedPoints(points: readonly PointRow[], gone: GonePoints): Steps {
  const values = points.flatMap(({ market, source, timestamp, seq }): Values[] => {
    const cut = cutToMicrosecond(timestamp)
    return cut === timestamp || cut < MIN_INT64 ? [] : [[market, source, cut, seq]]
  })
  if (values.length === 0) return
  const found = yield { text: DELETE_UNPLACED_POINT, values }
  for (const [index, deleted] of found.entries()) {
    const [market, source] = values[index] as readonly [bigint, number]
    addGone(gone, { market, source: BigInt(source) }, deleted)
  }
}

/** Points to be written, without imported ones of unknown block whose event has been written. */
export function* withoutExactCopies(points: readonly PointRow[]): Steps<readonly PointRow[]> {
  const unplaced = points.filter(({ height }) => !hasBlock(height))
  if (unplaced.length === 0) return points
  const found = yield {
    text: READ_EXACT,
    values: unplaced.map(({ market, source, timestamp, seq }) => [
      ...[market, source, timestamp, nearestInt64(timestamp + MICROSECOND - 1n), seq],
    ]),
  }
  const copies = new Set(unplaced.filter((_, index) => found[index]!.length > 0))
  return points.filter((point) => !copies.has(point))
}

function addGone(gone: GonePoints, run: SeriesRun, points: readonly Row[]): void {
  if (points.length === 0) return
  const key = `${run.market} ${run.source}`
  let known = gone.get(key)
  if (known === undefined) {
    known = { run, seqs: [], times: [] }
    gone.set(key, known)
  }
  for (const [seq, timestamp] of points) {
    known.seqs.push(BigInt(seq!))
    known.times.push(BigInt(timestamp!))
  }
}

/** Deletes the imported spans of 64 blocks of which none is imported any more, of some sources of markets. */
export function* deleteImportedSpans(
  runs: readonly SeriesRun[],
  heights: readonly bigint[],
  imported: readonly HeightRange[],
): Steps {
  const blocks = [...new Set(heights.map((height) => height / BLOCKS_OF_SPAN))].filter((some) => {
    const first = some * BLOCKS_OF_SPAN
    const range = imported[firstGapFrom(imported, first)]
    return range === undefined || range.from >= first + BLOCKS_OF_SPAN
  })
  const values = rangesOf(blocks).flatMap(({ from, to }) => runs.map((run) => [...cells(run), from, to]))
  if (values.length > 0) yield { text: DELETE_SPANS, values }
}
