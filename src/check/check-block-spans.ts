import { BLOCKS_OF_SPAN } from '../store/block-spans.ts'
import type { Cell, TableReader } from '../store/tables.ts'
import { tableOf } from '../store/tables.ts'
import { type NamedRow, namedRow, walkTable } from '../store/walk-table.ts'
import type { Problems } from './problems.ts'

const BLOCK_SPANS = tableOf('funding_period_block_spans')

/** Times between which some points lie, and how many these are. */
type Times = { first: bigint; last: bigint; points: number }

/**
 * Checks that every point lies within the span of the blocks that it came in. A wider span, or one without points,
 * is lawful: pruning leaves them. Takes memory for the points between two calls of {@link compare} alone.
 */
export class BlockSpanCheck {
  readonly #reader: TableReader
  readonly #problems: Problems
  /** By market, and within it by run of blocks. */
  #found = new Map<Cell, Map<bigint, Times>>()

  constructor(reader: TableReader, problems: Problems) {
    this.#reader = reader
    this.#problems = problems
  }

  add({ market, height, timestamp }: NamedRow): void {
    let times = this.#found.get(market!)
    if (times === undefined) {
      times = new Map()
      this.#found.set(market!, times)
    }
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
    for (const [market, times] of this.#found) {
      // Points come in the order of their times, so that their blocks lie close together.
      const runs = [...times.keys()].sort((a, b) => Number(a - b))
      const after = [market, (runs[0]! - 1n).toString()]
      const upTo = [market, runs.at(-1)!.toString()]
      for await (const chunk of walkTable(this.#reader, BLOCK_SPANS, { after, upTo })) {
        for (const row of chunk) this.#compareSpan(namedRow(BLOCK_SPANS, row), times)
      }
      for (const [blocks, { points }] of times) {
        this.#report(market, blocks, `missing, and there are ${points} points or more`)
      }
    }
    this.#found = new Map()
  }

  #compareSpan(
    { market, blocks, first_timestamp, last_timestamp }: NamedRow,
    times: Map<bigint, Times>,
  ): void {
    const run = BigInt(blocks!)
    const found = times.get(run)
    times.delete(run)
    if (found === undefined) return
    if (found.first >= BigInt(first_timestamp!) && found.last <= BigInt(last_timestamp!)) return
    this.#report(
      market!,
      run,
      `it says ${first_timestamp} to ${last_timestamp}, and there are points from ${found.first} to ${found.last}`,
    )
  }

  #report(market: Cell, blocks: bigint, what: string): void {
    this.#problems.add(`${BLOCK_SPANS.name} (${market}, ${blocks})`, what)
  }
}
