import { MAX_INT64, MIN_INT64 } from '#core/domain/integers'
import { type Bucket, compareCounted, countedPoints, type SeriesPoint } from '#core/domain/series'
import { closingTime, LEVELS, type Level } from '#core/domain/series-levels'
import type { TableReader } from '#core/store/table-reader'
import { type TextCell, tableOf } from '#core/store/tables'
import { allRows, describeRow, type NamedRow, RowQueue, walkTable } from '#core/store/walk-table'
import { OpenBuckets } from '#core/store/writing/fill-series'
import { bucketRow } from '#core/store/writing/write-series'
import type { Problems } from './problems.ts'

const SERIES = tableOf('funding_period_series')
const SPANS = tableOf('funding_period_spans')

/** Starts of a market's periods with points, and the latest of them. */
type Starts = { market: TextCell; bySeq: Map<bigint, bigint>; last: bigint | null }

/** A run while its points are read: those of one timestamp, and those carried over that count later. */
type Run = {
  market: string
  source: string
  last: bigint
  alike: SeriesPoint[]
  carried: SeriesPoint[]
  closed: { level: Level; index: bigint; bucket: Bucket }[]
  buckets: OpenBuckets
  rows: ReadonlyMap<Level, RowQueue>
}

/**
 * Compares the buckets of series with the points, which are given in the order of their key: the store has each bucket
 * that is closed once, and no other. Takes the memory of a few thousand rows for each length of buckets, and of the
 * points that were carried over into a period that has not started yet.
 */
export class SeriesCheck {
  /** Rows of the store that points led to. */
  rows = 0
  readonly #reader: TableReader
  readonly #problems: Problems
  #starts: Starts | null = null
  #run: Run | null = null

  constructor(reader: TableReader, problems: Problems) {
    this.#reader = reader
    this.#problems = problems
  }

  async add({ market, source, timestamp, seq, price, twap }: NamedRow): Promise<void> {
    if (this.#run?.market !== market || this.#run?.source !== source) {
      await this.end()
      this.#run = await this.#begin(market!, source!)
    }
    const run = this.#run!
    const time = BigInt(timestamp!)
    if (run.alike.length > 0 && time !== run.last) await this.#take(run)
    run.last = time
    run.alike.push({ time, timestamp: time, seq: BigInt(seq!), price: price!, twap: twap! })
  }

  /** The points of a market and source have been given; those of the next may follow. */
  async end(): Promise<void> {
    const run = this.#run
    if (run === null) return
    await this.#take(run)
    this.#count(run, null)
    run.buckets.closeBefore(closingTime(run.last, this.#starts!.last)!)
    await this.#compareClosed(run)
    for (const rows of run.rows.values()) {
      for (let row = await rows.next(); row !== null; row = await rows.next()) {
        rows.drop()
        this.rows++
        this.#problems.add(describeRow(SERIES, row), 'it is not closed, or contains no points')
      }
    }
    this.#run = null
  }

  async #begin(market: string, source: string): Promise<Run> {
    if (this.#starts?.market !== market) this.#starts = await this.#startsOf(market)
    const closed: Run['closed'] = []
    return {
      ...{ market, source, last: 0n, alike: [], carried: [], closed },
      buckets: new OpenBuckets((level, index, bucket) => closed.push({ level, index, bucket })),
      rows: new Map(LEVELS.map((level) => [level, this.#allRows(market, source, level)])),
    }
  }

  /** All points of one timestamp have been given. */
  async #take(run: Run): Promise<void> {
    const points = [...countedPoints(run.alike, this.#starts!.bySeq)]
    run.alike = []
    for (const point of points) {
      if (point.time !== point.timestamp) run.carried.push(point)
      else {
        this.#count(run, point)
        run.buckets.add(point)
      }
    }
    await this.#compareClosed(run)
  }

  /** Counts the carried-over points before a point; all of them if there is none. */
  #count({ carried, buckets }: Run, before: SeriesPoint | null): void {
    if (carried.length === 0) return
    carried.sort(compareCounted)
    const at = before === null ? -1 : carried.findIndex((point) => compareCounted(point, before) > 0)
    for (const point of carried.splice(0, at < 0 ? carried.length : at)) buckets.add(point)
  }

  async #compareClosed(run: Run): Promise<void> {
    for (const bucket of run.closed) await this.#compare(run, bucket)
    run.closed.length = 0
  }

  async #compare(run: Run, { level, index, bucket }: Run['closed'][number]): Promise<void> {
    const number = { market: BigInt(run.market), source: BigInt(run.source) }
    const rows = run.rows.get(level)!
    const expected = Object.values(bucketRow(number, level, index, bucket)).map((cell) =>
      cell === null ? null : String(cell),
    )
    for (;;) {
      const row = await rows.next()
      if (row === null || BigInt(row[3]!) > index) {
        this.#problems.add(
          describeRow(SERIES, expected),
          `missing, although it contains ${bucket.count} points`,
        )
        return
      }
      rows.drop()
      this.rows++
      if (BigInt(row[3]!) < index) {
        this.#problems.add(describeRow(SERIES, row), 'it contains no points')
        continue
      }
      const at = SERIES.columns.findIndex((_, position) => row[position] !== expected[position])
      if (at >= 0) {
        const { name } = SERIES.columns[at]!
        this.#problems.add(
          describeRow(SERIES, row),
          `${name} is ${row[at]}; computed from the points it is ${expected[at]}`,
        )
      }
      return
    }
  }

  async #startsOf(market: string): Promise<Starts> {
    const starts: Starts = { market, bySeq: new Map(), last: null }
    const range = { after: [market, '-1'], upTo: [market, MAX_INT64.toString()] }
    for (const row of await allRows(this.#reader, SPANS, range)) {
      const [seq, text] = [row[1]!, row.at(-1)]
      if (text == null) continue
      const start = BigInt(text)
      starts.bySeq.set(BigInt(seq), start)
      if (starts.last === null || start > starts.last) starts.last = start
    }
    return starts
  }

  #allRows(market: string, source: string, { seconds }: Level): RowQueue {
    const key = [market, source, seconds.toString()]
    const range = { after: [...key, MIN_INT64.toString()], upTo: [...key, MAX_INT64.toString()] }
    return new RowQueue(walkTable(this.#reader, SERIES, range))
  }
}
