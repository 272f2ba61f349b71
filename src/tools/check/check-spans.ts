import { getOrInsert } from '#core/domain/get-or-insert'
import type { RowRange, Table, TextCell } from '#core/store/schema/tables'
import { type NamedRow, walkTable } from '#core/store/walk-table'
import type { Allowances, Pair } from '../compare/compare-rows.ts'
import { type Cells, compareTables, givenRows, tableRules } from './compare-tables.ts'
import type { Checking } from './problems.ts'

/** Times between which some points lie, and how many these are. */
type SpanTimes = { first: bigint; last: bigint; points: number }

export type SpanRules = {
  /** The spans of a market: a table whose key is the market and a period, or a run of blocks. */
  table: Table
  ofPoint: (point: NamedRow) => bigint
  /** The spans of a market to be compared with those that points have led to, from the first to the last of these. */
  rangeOf: (market: TextCell, first: bigint, last: bigint) => RowRange
  /** Further columns of a market's spans. */
  columnsOf: (market: TextCell) => Promise<(of: bigint, points: number) => Cells>
  allowances: Allowances<Pair<NamedRow>>
}

type SpanCheck = {
  /** Registers a market, so that its spans are compared even without points. */
  expect(market: TextCell): Map<bigint, SpanTimes>
  add(point: NamedRow): void
  /** Compares the spans added since the last call. */
  compare(): Promise<void>
}

/** Compares spans with points. Keeps only the points between two comparisons in memory. */
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
      const found = expect(point.market!)
      const of = ofPoint(point)
      const time = BigInt(point.timestamp!)
      const known = found.get(of) ?? { first: time, last: time, points: 0 }
      if (time < known.first) known.first = time
      if (time > known.last) known.last = time
      known.points++
      found.set(of, known)
    },
    async compare() {
      for (const [market, found] of markets) {
        const others = await columnsOf(market)
        const ordered = [...found].sort(([a], [b]) => Number(a - b))
        const made = ordered.map(([of, { first, last, points }]) => [
          market,
          `${of}`,
          `${first}`,
          `${last}`,
          ...others(of, points),
        ])
        const range = rangeOf(market, ordered[0]?.[0] ?? 0n, ordered.at(-1)?.[0] ?? 0n)
        const held = walkTable(reader, table, range)
        const inMade = 'in a calculation from the points'
        await compareTables(table, held, givenRows(made), inMade, rules, problems)
      }
      markets.clear()
    },
  }
}
