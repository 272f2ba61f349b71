import type { TableReader } from '#core/store/table-reader'
import type { RowRange, Table, TextCell } from '#core/store/tables'
import { describeRow, type NamedRow, namedRow, walkTable } from '#core/store/walk-table'
import type { Problems } from './problems.ts'

/** Times between which some points lie, and how many these are. */
export type Times = { first: bigint; last: bigint; points: number }

/** What spans are of, as their key says before its last column: a market, or a source of one. */
type Owner = readonly TextCell[]

export type SpanRules = {
  /** The spans: a table whose key ends with what a span is of, a period or a run of blocks. */
  table: Table
  ofPoint: (point: NamedRow) => bigint
  /** The spans of an owner to be compared with those that points have led to, from the first to the last of these. */
  rangeOf: (owner: Owner, first: bigint, last: bigint) => RowRange
  /** Makes what finds the faults of an owner's spans, each with the times of its points, if it has some. */
  faultsOf: (owner: Owner) => Promise<(span: NamedRow, found: Times | undefined) => string[]>
  /** Says of a span that is missing how many points it should have. */
  describe: (points: number) => string
}

/** Compares spans with points. Takes memory for the points between two calls of {@link compare} alone. */
export class SpanCheck {
  readonly #rules: SpanRules
  readonly #reader: TableReader
  readonly #problems: Problems
  #found = new Map<string, { owner: Owner; times: Map<bigint, Times> }>()

  constructor(rules: SpanRules, reader: TableReader, problems: Problems) {
    this.#rules = rules
    this.#reader = reader
    this.#problems = problems
  }

  add(point: NamedRow): void {
    const { table, ofPoint } = this.#rules
    const owner = table.columns.slice(0, table.keyLength - 1).map(({ name }) => point[name]!)
    const key = owner.join(' ')
    let found = this.#found.get(key)
    if (found === undefined) {
      found = { owner, times: new Map() }
      this.#found.set(key, found)
    }
    const of = ofPoint(point)
    const time = BigInt(point.timestamp!)
    const known = found.times.get(of)
    if (known === undefined) {
      found.times.set(of, { first: time, last: time, points: 1 })
      return
    }
    if (time < known.first) known.first = time
    if (time > known.last) known.last = time
    known.points++
  }

  /** Compares the points that were added since the last time. */
  async compare(): Promise<void> {
    const { table, rangeOf, faultsOf, describe } = this.#rules
    const of = table.keyLength - 1
    for (const { owner, times } of this.#found.values()) {
      const faultsOfSpan = await faultsOf(owner)
      const ordered = [...times.keys()].sort((a, b) => Number(a - b))
      const range = rangeOf(owner, ordered[0]!, ordered.at(-1)!)
      for await (const chunk of walkTable(this.#reader, table, range)) {
        for (const row of chunk) {
          const found = times.get(BigInt(row[of]!))
          times.delete(BigInt(row[of]!))
          for (const what of faultsOfSpan(namedRow(table, row), found)) {
            this.#problems.add(describeRow(table, row), what)
          }
        }
      }
      for (const [missing, { points }] of times) {
        this.#problems.add(
          `${table.name} (${[...owner, missing].join(', ')})`,
          `missing, although there are ${describe(points)}`,
        )
      }
    }
    this.#found = new Map()
  }
}
