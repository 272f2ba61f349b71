import { MAX_INT64, MIN_INT64 } from '../domain/integers.ts'
import { type Bucket, bucketOf, indexAt, joinPoint } from '../domain/series.ts'
import { type Cell, type TableReader, tableOf } from '../store/tables.ts'
import { describeRow, type NamedRow, RowQueue, walkTable } from '../store/walk-table.ts'
import { bucketRow, LEVELS, type Level } from '../store/write-series.ts'
import type { Problems } from './problems.ts'

const SERIES = tableOf('funding_period_series')

/** Buckets of one length of the points that come, and the rows that the store has of them. */
type Open = { level: Level; index: bigint; bucket: Bucket; rows: RowQueue }

/**
 * Compares the buckets of series with the points, which come in the order of their key: each that a later point has
 * closed stands in the store once, and no other. Takes the memory of a few thousand rows for each length of buckets.
 */
export class SeriesCheck {
  /** Rows of the store that points led to. */
  rows = 0
  readonly #reader: TableReader
  readonly #problems: Problems
  #run: { market: Cell; source: Cell; time: bigint; open: Open[] } | null = null

  constructor(reader: TableReader, problems: Problems) {
    this.#reader = reader
    this.#problems = problems
  }

  async add({ market, source, timestamp, price, twap }: NamedRow): Promise<void> {
    const time = BigInt(timestamp!)
    const point = { price: price!, twap: twap! }
    const run = this.#run
    if (run === null || run.market !== market || run.source !== source) {
      await this.end()
      const open = LEVELS.map((level) => ({
        ...{ level, index: indexAt(time, level.nanoseconds), bucket: bucketOf(point) },
        rows: this.#rowsOf(market!, source!, level),
      }))
      this.#run = { market: market!, source: source!, time, open }
      return
    }
    // A copy in another period.
    if (time === run.time) return
    run.time = time
    for (const open of run.open) {
      const index = indexAt(time, open.level.nanoseconds)
      if (index === open.index) joinPoint(open.bucket, point)
      else {
        await this.#compare(open)
        open.index = index
        open.bucket = bucketOf(point)
      }
    }
  }

  /** The points of a market and source have come; those of the next may follow. */
  async end(): Promise<void> {
    for (const { rows } of this.#run?.open ?? []) {
      for (let row = await rows.next(); row !== null; row = await rows.next()) {
        rows.drop()
        this.rows++
        this.#problems.add(describeRow(SERIES, row), 'no later point has closed it, or it has no points')
      }
    }
    this.#run = null
  }

  async #compare({ level, index, bucket, rows }: Open): Promise<void> {
    const { market, source } = this.#run!
    const run = { market: BigInt(market!), source: BigInt(source!) }
    const expected = bucketRow(run, level, index, bucket).map((cell) => (cell === null ? null : String(cell)))
    for (;;) {
      const row = await rows.next()
      if (row === null || BigInt(row[3]!) > index) {
        this.#problems.add(describeRow(SERIES, expected), `missing, and there are ${bucket.count} points`)
        return
      }
      rows.drop()
      this.rows++
      if (BigInt(row[3]!) < index) {
        this.#problems.add(describeRow(SERIES, row), 'there are no points of its time')
        continue
      }
      const at = SERIES.columns.findIndex((_, position) => row[position] !== expected[position])
      if (at >= 0) {
        const { name } = SERIES.columns[at]!
        this.#problems.add(
          describeRow(SERIES, row),
          `${name} is ${row[at]}, and by the points ${expected[at]}`,
        )
      }
      return
    }
  }

  #rowsOf(market: string, source: string, { seconds }: Level): RowQueue {
    const key = [market, source, seconds.toString()]
    const range = { after: [...key, MIN_INT64.toString()], upTo: [...key, MAX_INT64.toString()] }
    return new RowQueue(walkTable(this.#reader, SERIES, range))
  }
}
