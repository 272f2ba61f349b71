import { type Coverage, coverageOfResource } from '../../../domain/coverage.ts'
import type { EventPosition } from '../../../domain/event-position.ts'
import { GapList } from '../../../domain/gap-list.ts'
import { type PositionRange, storedPartsOf, type Unseen } from '../../../domain/unseen.ts'
import {
  isOfAllMarkets,
  type Key,
  type KeyValue,
  type Resource,
  type Selection,
} from '../../../model/resource.ts'
import { locateRows } from '../../pages/locate.ts'
import { selectsNothing } from '../../pages/scan.ts'
import { columnList, fromClause, POSITION_HINTS, selectionConditions } from '../../pages/scan-sql.ts'
import type { Query, Statement } from '../../queries-protocol.ts'
import { readCoverage, readStoreHead } from '../coverage.ts'
import type { Pass, RangeRead } from './points-pass.ts'
import {
  cutAt,
  idColumns,
  isSameEvent,
  type LocatedRows,
  MAX_READ_ROWS,
  POSITION_COLUMNS,
  type PositionedRow,
  positionedRowOf,
  positionOf,
  positionWithin,
} from './positioned-rows.ts'
import { type RangeQuery, readUnseenPoints } from './unseen-points.ts'

/** A query for the rows that a follower has not received, in the order of the stream. */
export type UnseenQuery = {
  resource: Resource
  selection: Selection
  unseen: Unseen
  /** The coverage to assume; null for that of the snapshot. */
  asOf: Coverage | null
  /** Maximum number of rows. */
  limit: number
  /** The pass that the previous answer has not ended, which this query continues with the same coverage; null if it has. */
  pass: Pass | null
}

/** The answer of one snapshot to an {@link UnseenQuery}. */
export type UnseenRows = {
  /** The coverage of the snapshot, or the assumed one. */
  coverage: Coverage
  rows: PositionedRow[]
  /** The position up to which rows have been read; null if all have. */
  reached: EventPosition | null
  /** The progress within blocks with more rows than are read at a time; none of their rows has been returned yet. */
  pass: Pass | null
}

/**
 * Reads rows in the order of the stream. Null in an empty store, and in one that has less than `asOf`: a lagging replica,
 * or a restored store. At the limit, and of data points once many were read that do not match, the next query continues.
 */
export function* readUnseenRows(query: UnseenQuery): Query<UnseenRows | null> {
  const { resource, selection, unseen, limit, pass } = query
  let coverage = query.asOf
  if (coverage === null) {
    const stored = yield* readCoverage()
    if (stored === null) return null
    coverage = coverageOfResource(stored, resource.name)
  } else {
    const storeHead = yield* readStoreHead()
    if (storeHead === null || BigInt(storeHead.height) < coverage.height) return null
  }
  const rows: PositionedRow[] = []
  const all: UnseenRows = { coverage, rows, reached: null, pass: null }
  if (limit === 0 || selectsNothing(resource, selection)) return all
  // Gaps that have been filled since are not in this coverage: their rows follow once they are.
  const missing = new GapList(coverage.gaps.filter(({ kind }) => kind === 'missing'))
  const located = yield* locateRows(resource, selection)
  if (located === null) return all
  const ranges = storedPartsOf(unseen, coverage)
  // The position of a row assumes that all earlier blocks have been seen, which this follower has not.
  const hasGap = ranges.some(({ height }) => height < unseen.tail.height)
  const locatedRows = { resource: hasGap ? inGaps(resource) : resource, selection, ...located }
  let openPass = pass
  let readRows = 0
  for (const range of ranges) {
    let from: EventPosition = range
    while (from.height <= range.to) {
      const part = yield* readRange(
        { ...locatedRows, limit: limit - rows.length, pass: openPass },
        { ...from, to: range.to },
      )
      openPass = null
      rows.push(...part.rows.filter(({ position }) => !missing.has(position.height)))
      if (part.pass !== null) {
        // The rows read so far are sent first: a pass begins where the query itself begins.
        return { ...all, reached: from, pass: rows.length === 0 ? part.pass : null }
      }
      readRows += part.readRows
      from = part.reached
      const isAtEnd = from.height > range.to && range.to >= coverage.height
      if ((rows.length >= limit || readRows >= MAX_READ_ROWS) && !isAtEnd) {
        return { ...all, reached: from }
      }
    }
  }
  return all
}

/** The resource with each row at the positions of all events that it depends on, so that some rows are sent twice. */
function inGaps(resource: Resource): Resource {
  const { fromInGaps: from } = resource.storage
  return from === undefined ? resource : { ...resource, storage: { ...resource.storage, from } }
}

function* readRange(query: RangeQuery, range: PositionRange): Query<RangeRead> {
  if (query.resource.storage.hasBlockSpans) return yield* readUnseenPoints(query, range)
  const { limit } = query
  const rows = (yield positionedRowsStatement(query, range, limit + 1)).map(positionedRowOf(query))
  const [last, next] = [rows[limit - 1], rows[limit]]
  const { rows: first, reached } = cutAt(limit, rows, range.to)
  const isTorn = next !== undefined && isSameEvent(last!.position, next.position)
  return {
    rows: first,
    readRows: rows.length,
    pass: null,
    reached: isTorn ? positionWithin(query, last!) : reached,
  }
}

/** The first rows of these blocks, among all rows of a selection. */
function positionedRowsStatement(
  located: LocatedRows,
  { height, index, within, to }: PositionRange,
  limit: number,
): Statement {
  const { resource, selection, market } = located
  const { table } = resource.storage
  const values: KeyValue[] = [height, BigInt(within === undefined ? index : index + 1), to, BigInt(limit)]
  const ids = idColumns(located).map((column) => `${table}.${column}`)
  const after = within === undefined ? [] : within.map((id) => `$${values.push(id)}`)
  const compared = ['height', 'event_index', ...(within === undefined ? [] : ids)]
  const conditions = selectionConditions(
    located,
    (name) => `$${values.push(name === 'market' ? market! : selection[name]!)}`,
    undefined,
    resource.storage.hasPositionsOfAllMarkets === true ? POSITION_HINTS : undefined,
  )
  conditions.push(`(${compared.join(', ')}) > (${['$1', '$2', ...after].join(', ')}) and height <= $3`)
  const marketId = isOfAllMarkets(resource, selection) ? `${table}.market_id, ` : ''
  return {
    text: `select ${columnList(resource)}, ${marketId}${POSITION_COLUMNS} from ${fromClause(resource)}
      where ${conditions.join(' and ')}
      order by ${[`${table}.height`, `${table}.event_index`, ...ids].join(', ')} limit $4`,
    values,
  }
}

/** The statement for the position of the row with a key; it returns one row, or none. */
function positionStatement(
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
    text: `select ${POSITION_COLUMNS} from ${fromClause(resource)} where ${conditions.join(' and ')}`,
    values,
  }
}

/** The position of the row with a key; null if there is no such row. */
export function* readPosition(
  resource: Resource,
  selection: Selection,
  key: Key,
): Query<EventPosition | null> {
  const located = yield* locateRows(resource, selection)
  if (located === null) return null
  const [row] = yield positionStatement(resource, selection, key, located.market)
  return row === undefined ? null : positionOf(row)
}
