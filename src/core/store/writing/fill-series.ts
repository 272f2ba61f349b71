import { MAX_INT64, MIN_INT64 } from '../../domain/integers.ts'
import { type Bucket, bucketOf, indexAt, joinPoint } from '../../domain/series.ts'
import { LEVELS, type Level } from '../../domain/series-levels.ts'
import { count } from '../../domain/words.ts'
import { seriesTable } from '../../resources/funding-period-data-points/table.ts'
import type { RowOf } from '../../resources/table.ts'
import { valueLists } from '../pages/statement.ts'
import { readCounted, type SeriesRun, SOURCES } from '../readings/counted-points.ts'
import { READ_MARKET_IDS } from '../statements.ts'
import { WRITE_START } from './period-starts.ts'
import type { Steps } from './steps.ts'
import { bucketRow, readClosing } from './write-series.ts'

/** Buckets that are written at a time. */
const CHUNK_ROWS = 1_000

/** Points between two reports of progress. */
const REPORT_POINTS = 1_000_000

const READ_PERIOD_STARTS = `
  select cast(seq as text), cast(start_timestamp as text) from funding_periods where market_id = $1`

/** The steps that write the series of points that a store holds already; it has none yet. */
export function* fillSeries(onNotice: (message: string) => void): Steps {
  const [markets = []] = yield { text: READ_MARKET_IDS, values: [[]] }
  let read = 0
  for (const [number, marketId] of markets) {
    const market = BigInt(number!)
    const [periods = []] = yield { text: READ_PERIOD_STARTS, values: [[marketId!]] }
    yield { text: WRITE_START, values: periods.map(([seq, start]) => [market, BigInt(seq!), BigInt(start!)]) }
    for (const source of SOURCES) {
      yield* fillRun({ market, source }, () => {
        if (++read % REPORT_POINTS === 0)
          onNotice(`new schema: computing series, ${count(read)} data points read`)
      })
    }
  }
}

/** One pass over the points writes the closed buckets of every length. */
function* fillRun(run: SeriesRun, onPoint: () => void): Steps {
  const [closing = null] = yield* readClosing([run])
  if (closing === null) return
  const rows: RowOf<typeof seriesTable>[] = []
  const buckets = new OpenBuckets((level, index, bucket) => rows.push(bucketRow(run, level, index, bucket)))
  const points = readCounted(run, { from: MIN_INT64, to: MAX_INT64 + 1n }, (point) => {
    onPoint()
    buckets.add(point)
  })
  let step = points.next()
  while (!step.done) {
    const found = yield { text: step.value.text, values: valueLists(step.value) }
    step = points.next(found.flat())
    if (step.done) buckets.closeBefore(closing)
    if (rows.length >= CHUNK_ROWS || step.done) yield { table: seriesTable, rows: rows.splice(0) }
  }
}

/** The buckets of a run that are not closed, one of each length, while its points are given in their order. */
export class OpenBuckets {
  readonly #onClosed: (level: Level, index: bigint, bucket: Bucket) => void
  readonly #open: { level: Level; index: bigint; bucket: Bucket }[] = []

  /** @param onClosed is given each bucket once a later point has closed it */
  constructor(onClosed: (level: Level, index: bigint, bucket: Bucket) => void) {
    this.#onClosed = onClosed
  }

  add(point: Parameters<typeof bucketOf>[0]): void {
    if (this.#open.length === 0) {
      for (const level of LEVELS)
        this.#open.push({ level, index: indexAt(point.time, level.nanoseconds), bucket: bucketOf(point) })
      return
    }
    for (const open of this.#open) {
      const index = indexAt(point.time, open.level.nanoseconds)
      if (index === open.index) {
        joinPoint(open.bucket, point)
        continue
      }
      this.#onClosed(open.level, open.index, open.bucket)
      open.index = index
      open.bucket = bucketOf(point)
    }
  }

  /** No point follows: closes those that the run's closing time has closed. */
  closeBefore(closing: bigint): void {
    for (const { level, index, bucket } of this.#open) {
      if (index < indexAt(closing, level.nanoseconds)) this.#onClosed(level, index, bucket)
    }
  }
}
