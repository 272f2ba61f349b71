import type { TableReader } from '#core/store/table-reader'
import type { RowRange, Table, TextCell } from '#core/store/tables'
import { type NamedRow, walkTable } from '#core/store/walk-table'
import type { Allowances, Pair } from '../compare/compare-rows.ts'
import { type Cells, compareTables, given, tableRules } from './compare-tables.ts'
import type { Problems } from './problems.ts'

/** Times between which some points lie, and how many these are. */
type Times = { first: bigint; last: bigint; points: number }

export type SpanRules = {
  /** The spans of a market: a table whose key is that and what a span is of, a period or a run of blocks. */
  table: Table
  ofPoint: (point: NamedRow) => bigint
  /** The spans of a market to be compared with those that points have led to, from the first to the last of these. */
  rangeOf: (market: TextCell, first: bigint, last: bigint) => RowRange
  /** Further columns of a market's spans. */
  columnsOf: (market: TextCell) => Promise<(of: bigint, points: number) => Cells>
  allowances: Allowances<Pair<NamedRow>>
}

/** Compares spans with points. Takes memory for the points between two calls of {@link compare} alone. */
export class SpanCheck {
  readonly #rules: SpanRules
  readonly #reader: TableReader
  readonly #problems: Problems
  #found = new Map<TextCell, Map<bigint, Times>>()

  constructor(rules: SpanRules, reader: TableReader, problems: Problems) {
    this.#rules = rules
    this.#reader = reader
    this.#problems = problems
  }

  /** Has the spans of a market compared, even if it has no points. */
  expect(market: TextCell): Map<bigint, Times> {
    const found = this.#found.get(market) ?? new Map<bigint, Times>()
    this.#found.set(market, found)
    return found
  }

  add(point: NamedRow): void {
    const times = this.expect(point.market!)
    const of = this.#rules.ofPoint(point)
    const time = BigInt(point.timestamp!)
    const known = times.get(of)
    if (known === undefined) {
      times.set(of, { first: time, last: time, points: 1 })
      return
    }
    if (time < known.first) known.first = time
    if (time > known.last) known.last = time
    known.points++
  }

  /** Compares the points that were added since the last time. */
  async compare(): Promise<void> {
    const { table, rangeOf, columnsOf, allowances } = this.#rules
    const rules = { ...tableRules(table), allowances }
    for (const [market, times] of this.#found) {
      const others = await columnsOf(market)
      const ordered = [...times].sort(([a], [b]) => Number(a - b))
      const made = ordered.map(([of, { first, last, points }]) => [
        ...[market, `${of}`, `${first}`, `${last}`],
        ...others(of, points),
      ])
      const range = rangeOf(market, ordered[0]?.[0] ?? 0n, ordered.at(-1)?.[0] ?? 0n)
      const stored = walkTable(this.#reader, table, range)
      await compareTables(
        table,
        [stored, given(made)],
        ['in the store', 'in a calculation from the points'],
        rules,
        this.#problems,
      )
    }
    this.#found = new Map()
  }
}
