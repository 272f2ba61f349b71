import { getOrInsert } from '#core/domain/get-or-insert'
import type { RowRange } from '#core/store/schema/ranges'
import type { Table, TextCell } from '#core/store/schema/tables'
import { type NamedRow, walkTable } from '#core/store/walk-table'
import type { Allowances, Pair } from '../compare/compare-rows.ts'
import { type Cells, compareTables, inOneChunk, tableRules } from './compare-tables.ts'
import type { Checking } from './problems.ts'

/** The first and last time of points, and their number. */
type SpanTimes = { first: bigint; last: bigint; points: number }

export type SpanRules = {
  /** The spans of a market: a table whose key is the market and a period, or the market and a range of blocks. */
  table: Table
  ofPoint: (point: NamedRow) => bigint
  /** The spans of a market that are to be compared with those of its points, from the first to the last of these. */
  rangeOf: (market: TextCell, first: bigint, last: bigint) => RowRange
  /** Further columns of a market's spans. */
  columnsOf: (market: TextCell) => Promise<(of: bigint, points: number) => Cells>
  allowances: Allowances<Pair<NamedRow>>
}

export type SpanCheck = {
  /** Registers a market, so that its spans are compared even without points. */
  expect(market: TextCell): Map<bigint, SpanTimes>
  add(point: NamedRow): void
  /** Compares the spans added since the last call. */
  compare(): Promise<void>
}

/** Compares spans with points. Only the points between two comparisons are in memory. */
export function createSpanCheck(
  { table, ofPoint, rangeOf, columnsOf, allowances }: SpanRules,
  { reader, problems }: Checking,
): SpanCheck {
  const markets = new Map<TextCell, Map<bigint, SpanTimes>>()
  const rules = { ...tableRules(table), allowances }
  const expect = (market: TextCell) => getOrInsert(markets, market, () => new Map<bigint, SpanTimes>())
  return {
    expect,
    add(point) {
      const spans = expect(point.market!)
      const of = ofPoint(point)
      const time = BigInt(point.timestamp!)
      const span = spans.get(of) ?? { first: time, last: time, points: 0 }
      if (time < span.first) span.first = time
      if (time > span.last) span.last = time
      span.points++
      spans.set(of, span)
    },
    async compare() {
      for (const [market, spans] of markets) {
        const others = await columnsOf(market)
        const ordered = [...spans].sort(([a], [b]) => Number(a - b))
        const calculated = ordered.map(([of, { first, last, points }]) => [
          market,
          `${of}`,
          `${first}`,
          `${last}`,
          ...others(of, points),
        ])
        const range = rangeOf(market, ordered[0]?.[0] ?? 0n, ordered.at(-1)?.[0] ?? 0n)
        const stored = walkTable(reader, table, range)
        const inOthers = 'in a calculation from the points'
        await compareTables(table, stored, inOneChunk(calculated), inOthers, rules, problems)
      }
      markets.clear()
    },
  }
}

/** Whether a stored span reaches at least as far as the calculated one, or there is nothing that it must reach. */
export function covers({ a, b }: Pair<NamedRow>): boolean {
  if (a === null || b === null) return a !== null
  return (
    BigInt(a.first_timestamp!) <= BigInt(b.first_timestamp!) &&
    BigInt(a.last_timestamp!) >= BigInt(b.last_timestamp!)
  )
}
