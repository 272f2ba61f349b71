import type { Table, TableReader, TextCell } from '../store/tables.ts'
import { type NamedRow, namedRow, walkTable } from '../store/walk-table.ts'
import { BLOCKS_OF_SPAN } from '../store/writing/block-spans.ts'
import type { Problems } from './problems.ts'

/** Times between which some points lie, and how many these are. */
type Times = { first: bigint; last: bigint; points: number }

/** What spans are of, as their key says before the run of blocks: a market, or a source of one. */
type Owner = { key: readonly TextCell[]; times: Map<bigint, Times> }

/**
 * Checks that every point lies within the span of the blocks that it came in. A wider span, or one without points,
 * is lawful: pruning leaves them. Takes memory for the points between two calls of {@link compare} alone.
 */
export class BlockSpanCheck {
  readonly #table: Table
  readonly #reader: TableReader
  readonly #problems: Problems
  /** By the key's part before the run of blocks. */
  #found = new Map<string, Owner>()

  /** @param table the spans of events' points, or of imported ones. */
  constructor(table: Table, reader: TableReader, problems: Problems) {
    this.#table = table
    this.#reader = reader
    this.#problems = problems
  }

  add(point: NamedRow): void {
    const { height, timestamp } = point
    const key = this.#ownerOf(point)
    let owner = this.#found.get(key.join(' '))
    if (owner === undefined) {
      owner = { key, times: new Map() }
      this.#found.set(key.join(' '), owner)
    }
    const { times } = owner
    const blocks = BigInt(height!) / BLOCKS_OF_SPAN
    const time = BigInt(timestamp!)
    const known = times.get(blocks)
    if (known === undefined) {
      times.set(blocks, { first: time, last: time, points: 1 })
      return
    }
    if (time < known.first) known.first = time
    if (time > known.last) known.last = time
    known.points++
  }

  /** Compares the points that were added since the last time. */
  async compare(): Promise<void> {
    for (const { key, times } of this.#found.values()) {
      // Points come in the order of their times, so that their blocks lie close together.
      const runs = [...times.keys()].sort((a, b) => Number(a - b))
      const after = [...key, (runs[0]! - 1n).toString()]
      const upTo = [...key, runs.at(-1)!.toString()]
      for await (const chunk of walkTable(this.#reader, this.#table, { after, upTo })) {
        for (const row of chunk) this.#compareSpan(namedRow(this.#table, row), times)
      }
      for (const [blocks, { points }] of times) {
        this.#report(key, blocks, `missing, although there are ${points} points or more`)
      }
    }
    this.#found = new Map()
  }

  #ownerOf(row: NamedRow): TextCell[] {
    return this.#table.columns.slice(0, this.#table.keyLength - 1).map(({ name }) => row[name]!)
  }

  #compareSpan(span: NamedRow, times: Map<bigint, Times>): void {
    const { blocks, first_timestamp, last_timestamp } = span
    const run = BigInt(blocks!)
    const found = times.get(run)
    times.delete(run)
    if (found === undefined) return
    if (found.first >= BigInt(first_timestamp!) && found.last <= BigInt(last_timestamp!)) return
    this.#report(
      this.#ownerOf(span),
      run,
      `it covers ${first_timestamp} to ${last_timestamp}, but there are points from ${found.first} to ${found.last}`,
    )
  }

  #report(owner: readonly TextCell[], blocks: bigint, what: string): void {
    this.#problems.add(`${this.#table.name} (${[...owner, blocks].join(', ')})`, what)
  }
}
