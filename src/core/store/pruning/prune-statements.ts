import { MIN_INT64, nearestInt64 } from '../../domain/integers.ts'
import type { PointKey } from '../../domain/series.ts'
import { DAY } from '../../domain/time.ts'
import type { KeyValue } from '../../model/resource.ts'
import { dataPointTable } from '../../resources/funding-period-data-points/table.ts'
import type { MarketSeries } from '../queries/series/counted-points.ts'
import type { Mutation, Statement, Write } from '../queries-protocol.ts'
import { rangeClauses } from '../schema/ranges.ts'
import type { PrunedTable } from '../schema/tables.ts'
import { textOf } from '../statements.ts'
import type { PruneBound, RowKey } from './prune-bound.ts'

/*
 * The statements of pruning, in SQL for both databases. By time, the points of a series are read up to the bound; by
 * height, all of them are read, because a point's key does not contain the height.
 */

const POINT_TABLE = 'funding_period_data_points'

/** Changes nothing, but fails for a user who may not write. */
export const TRY_TO_WRITE: Write = { text: 'update pruned set id = id where false' }

/** Stores the bound of a deletion, unless the stored bound already reaches further. */
export function noteBound({ by, before }: PruneBound): Write {
  const column = by === 'time' ? 'before_timestamp' : 'before_height'
  return {
    text: `insert into pruned (id, ${column}) values (1, $1)
      on conflict (id) do update set ${column} = case
        when pruned.${column} > excluded.${column} then pruned.${column} else excluded.${column} end`,
    values: [before],
  }
}

/** Stores the first day whose payments are added up (counted from 1970-01-01 on), unless the stored one is later. */
export function noteSumsFrom(day: bigint): Write {
  return {
    text: `insert into pruned (id, sums_from_day) values (1, $1)
      on conflict (id) do update set sums_from_day = case
        when pruned.sums_from_day > excluded.sums_from_day then pruned.sums_from_day else excluded.sums_from_day end`,
    values: [day],
  }
}

/**
 * Deletes the next sums of a market's days before one of them, at most `limit`, and the spans of payments before it; returns a row
 * for each.
 */
export function deleteOldSums(marketId: string, day: bigint, limit: number): Write[] {
  return [
    {
      text: `delete from funding_daily_sums where market_id = $1 and (day, party_id) in (
          select day, party_id from funding_daily_sums where market_id = $1 and day < $2
          order by day, party_id limit ${limit})
        returning 1`,
      values: [marketId, day],
    },
    {
      text: `delete from funding_payment_spans where market_id = $1 and seq in (
          select seq from funding_payment_spans where market_id = $1 and last_timestamp <= $2
          order by seq limit ${limit})
        returning 1`,
      // A day may begin after all 64-bit times.
      values: [marketId, nearestInt64(day * DAY - 1n)],
    },
  ]
}

/** The keys of the next old rows of a table after a key, at most `limit`. */
export function oldKeys(
  table: PrunedTable,
  { by, before }: PruneBound,
  after: RowKey | null,
  limit: number,
): Statement {
  const range = rangeClauses(table, { after, upTo: null })
  const keys = table.columns
    .slice(0, table.keyLength)
    .map(({ name, type }) => (type === 'integer' ? textOf(name) : name))
  const isOld = `${table.pruned[by]} < ${range.next}`
  return {
    text: `select ${keys.join(', ')} from ${table.name} ${range.where} ${range.where === '' ? 'where' : 'and'} ${isOld}
      ${range.order} limit $${range.values.length + 2}`,
    values: [...range.values, before, BigInt(limit)],
  }
}

/**
 * Deletes the old rows of a table after one key, up to and including another one; returns a row for each, with its time in the
 * column by which it is pruned.
 */
export function deleteRows(
  table: PrunedTable,
  { by, before }: PruneBound,
  after: RowKey | null,
  last: RowKey,
): Write {
  const range = rangeClauses(table, { after, upTo: last })
  return {
    text: `delete from ${table.name} ${range.where} and ${table.pruned[by]} < ${range.next}
      returning ${textOf(table.pruned.time)}`,
    values: [...range.values, before],
  }
}

/**
 * The next points of a series after a key, at most `limit`: time, seq, and 1 if the point is to be deleted, otherwise 0.
 */
export function nextPoints(
  { by, before }: PruneBound,
  { market, source }: MarketSeries,
  after: PointKey | null,
  limit: number,
): Statement {
  const upTo = by === 'time' ? 'and timestamp < $5' : ''
  return {
    text: `select ${textOf('timestamp')}, ${textOf('seq')}, case when ${isOld(by, '$5')} then 1 else 0 end
      from ${POINT_TABLE}
      where market = $1 and source = $2 and (timestamp, seq) > ($3, $4) ${upTo}
      order by timestamp, seq limit $6`,
    values: [market, source, ...keyAfter(after), before, BigInt(limit)],
  }
}

/**
 * The old points of these periods in a series, after one key, up to and including another one: a statement that reads them,
 * and one that deletes them.
 */
export function oldPoints(
  { by, before }: PruneBound,
  { market, source }: MarketSeries,
  after: PointKey | null,
  last: PointKey,
  seqs: readonly bigint[],
): { read: Write; delete: Write } {
  const where = `where market = $1 and source = $2 and (timestamp, seq) > ($3, $4) and (timestamp, seq) <= ($5, $6)
        and ${isOld(by, '$7')} and seq = $8`
  const ends = [...keyAfter(after), last.timestamp, last.seq]
  const each = seqs.map((seq) => [market, source, ...ends, before, seq])
  return {
    read: { text: `select cast(timestamp as text), cast(seq as text) from ${POINT_TABLE} ${where}`, each },
    delete: { text: `delete from ${POINT_TABLE} ${where}`, each },
  }
}

const isOld = (by: PruneBound['by'], before: string) => `${dataPointTable.pruned![by]} < ${before}`

function keyAfter(after: PointKey | null): KeyValue[] {
  return after === null ? [MIN_INT64, -1n] : [after.timestamp, after.seq]
}

/**
 * The first or last time of the points of the period in the row `span`; null if it has none. `$1` is the market: on a
 * cluster, a value determines the machine.
 */
function edge(aggregate: 'min' | 'max'): string {
  const direction = aggregate === 'min' ? '' : 'desc'
  // One walk along the key for each source, which ends at the first point of the period.
  const ofSource = (source: number) => `
    select found from (
      select timestamp as found from ${POINT_TABLE}
      where market = $1 and source = ${source} and seq = span.seq
        and timestamp >= span.first_timestamp and timestamp <= span.last_timestamp
      order by ${POINT_TABLE}.timestamp ${direction} limit 1
    ) as source_${source}`
  return `(select ${aggregate}(found) from (${[0, 1, 2].map(ofSource).join(' union all ')}) as edges)`
}

/**
 * Locks the spans of periods with points between two times until the transaction ends, so that nobody else changes them.
 */
export function lockSpans({ market }: MarketSeries, first: bigint, last: bigint): Write {
  return {
    text: `update funding_period_spans set points = points
      where market = $1 and first_timestamp <= $2 and last_timestamp >= $3`,
    values: [market, last, first],
  }
}

/**
 * Subtracts deleted points from the spans of their periods, and deletes empty spans. The points are given by the seqs of
 * their periods.
 */
export function* shrinkSpans({ market }: MarketSeries, gone: readonly bigint[]): Mutation {
  const bySeq = Map.groupBy(gone, (seq) => seq)
  yield {
    text: `update funding_period_spans as span set points = span.points - $3,
        first_timestamp = coalesce(${edge('min')}, span.first_timestamp),
        last_timestamp = coalesce(${edge('max')}, span.last_timestamp)
      where market = $1 and seq = $2`,
    each: [...bySeq].map(([seq, { length }]) => [market, seq, BigInt(length)]),
  }
  yield {
    text: `delete from funding_period_spans as span where market = $1 and seq = $2 and ${edge('min')} is null`,
    each: [...bySeq.keys()].map((seq) => [market, seq]),
  }
}
