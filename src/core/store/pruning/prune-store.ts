import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises'
import { withOpen } from '../../concurrency/with-open.ts'
import { greatest } from '../../domain/integers.ts'
import { indexAt, type PointKey } from '../../domain/series.ts'
import { BASE } from '../../domain/series-levels.ts'
import { DAY } from '../../domain/time.ts'
import { count, wordsOfName } from '../../domain/words.ts'
import { SOURCE_NUMBERS } from '../../resources/funding-period-data-points/description.ts'
import { dataPointTable } from '../../resources/funding-period-data-points/table.ts'
import { buildStaleBuckets, lockSeries } from '../charts/build-series.ts'
import { markStale } from '../charts/stale-series.ts'
import { READ_SUMS_FROM } from '../queries/payments/summed-days.ts'
import { readBuiltSeries } from '../queries/series/built-series.ts'
import type { MarketSeries } from '../queries/series/counted-points.ts'
import { asMutation, type Mutation } from '../queries-protocol.ts'
import { PRUNED_TABLES, type PrunedTable } from '../schema/tables.ts'
import { READ_MARKET_IDS } from '../statements.ts'
import type { StoreAdmin, Upkeep } from '../store.ts'
import type { PruneBound, RowKey } from './prune-bound.ts'
import {
  deleteOldSums,
  deleteRows,
  lockSpans,
  nextPoints,
  noteBound,
  noteSumsFrom,
  oldKeys,
  oldPoints,
  shrinkSpans,
  TRY_TO_WRITE,
} from './prune-statements.ts'

/** Number of rows examined in one transaction, which takes a few milliseconds. */
const PRUNE_CHUNK_ROWS = 1_000

/** Number of rows that are deleted before their series are built anew. */
const MOST_STALE = 20_000

/** Minimum wait after a chunk that has deleted rows, so that a writer can commit. */
const LEAST_WAIT_MS = 5

/** Number of deleted rows by their names in reports: `fundingPeriodDataPoints`. */
type PruneReport = Record<string, number>

/** `11 checkpoints, 749 funding period data points` */
export function describePruned(report: PruneReport): string {
  return Object.entries(report)
    .map(([name, rows]) => `${count(rows)} ${wordsOfName(rows === 1 ? name.replace(/s$/, '') : name)}`)
    .join(', ')
}

type PruneOptions = {
  signal?: AbortSignal
  /** Whether rows are only counted, not deleted. */
  isDryRun?: boolean
  /** Called with the totals after each chunk that has deleted rows. */
  onProgress?: (report: PruneReport) => void
}

/** A chunk of rows that has been examined: the number of deleted rows, and its last key; null if no row follows. */
type PrunedChunk<Key> = { rows: number; last: Key | null }

/**
 * Deletes rows older than a bound from the tables whose rows have an age. It does so in chunks, so that readers and a
 * writer never wait for long. Each chunk is complete if pruning is interrupted: spans and series are updated together with
 * the points, and the bound is stored.
 *
 * @throws {StoreError} if the store cannot be written to.
 */
export async function pruneStore(
  store: StoreAdmin,
  bound: PruneBound,
  options: PruneOptions = {},
): Promise<PruneReport> {
  const chunks = new PrunedChunks(options)
  const { isDryRun = false } = options
  await withOpen(store.openUpkeep(), async (upkeep) => {
    if (!isDryRun) {
      await upkeep.write(function* () {
        yield TRY_TO_WRITE
        return 0
      })
    }
    for (const table of PRUNED_TABLES) {
      if (table.alsoChanges === 'series') continue
      await chunks.prune<RowKey>(table.counted, (after) => pruneRows(upkeep, table, bound, after, isDryRun))
    }
    for (const [number] of await upkeep.read({ text: READ_MARKET_IDS, values: [] })) {
      for (const source of SOURCE_NUMBERS) {
        const pruner = new SeriesPruner(upkeep, bound, { market: BigInt(number!), source }, isDryRun)
        await chunks.prune<PointKey>(dataPointTable.counted!, (after) => pruner.pruneChunk(after))
      }
    }
    if (!isDryRun) await pruneSums(upkeep, options.signal)
  })
  return chunks.report
}

/** Prunes chunk after chunk, waits between them so that a writer can commit, and counts the rows. */
class PrunedChunks {
  readonly report: PruneReport = Object.fromEntries(PRUNED_TABLES.map(({ counted }) => [counted, 0]))
  readonly #options: PruneOptions

  constructor(options: PruneOptions) {
    this.#options = options
  }

  /**
   * Prunes until no row follows, or the signal is aborted.
   *
   * @param counted the name of the rows in the report
   * @param pruneChunk prunes the rows after a key; null for the first ones
   */
  async prune<Key>(
    counted: string,
    pruneChunk: (after: Key | null) => Promise<PrunedChunk<Key>>,
  ): Promise<void> {
    const { signal, isDryRun = false, onProgress } = this.#options
    let after: Key | null = null
    do {
      if (signal?.aborted) return
      const startedAt = performance.now()
      const { rows, last }: PrunedChunk<Key> = await pruneChunk(after)
      after = last
      if (rows === 0) {
        // SQLite reads synchronously: other work, such as that of a signal, runs here.
        await nextRound()
        continue
      }
      this.report[counted]! += rows
      onProgress?.(this.report)
      await sleep(isDryRun ? 0 : Math.max(LEAST_WAIT_MS, performance.now() - startedAt))
    } while (after !== null)
  }
}

async function pruneRows(
  upkeep: Upkeep,
  table: PrunedTable,
  bound: PruneBound,
  after: RowKey | null,
  isDryRun: boolean,
): Promise<PrunedChunk<RowKey>> {
  const keys = await upkeep.read(oldKeys(table, bound, after, PRUNE_CHUNK_ROWS))
  const last = keys.at(-1)?.map(String)
  if (last === undefined) return { rows: 0, last: null }
  const next = keys.length < PRUNE_CHUNK_ROWS ? null : last
  if (isDryRun) return { rows: keys.length, last: next }
  const rows = await upkeep.write(function* () {
    const [deleted] = yield deleteRows(table, bound, after, last)
    const gone = deleted!
    if (gone.length === 0) return 0
    yield noteBound(bound)
    // The day of the newest deleted payment is not whole any more.
    if (table.alsoChanges === 'daily sums')
      yield noteSumsFrom(indexAt(greatest(gone.map(([time]) => BigInt(time!))), DAY) + 1n)
    return gone.length
  })
  return { rows, last: next }
}

/** Deletes the sums of the days that pruning has reached, which nobody reads any more. */
async function pruneSums(upkeep: Upkeep, signal?: AbortSignal): Promise<void> {
  const [from] = await upkeep.read({ text: READ_SUMS_FROM, values: [] })
  if (from === undefined) return
  for (const [, marketId] of await upkeep.read({ text: READ_MARKET_IDS, values: [] })) {
    for (const deletion of deleteOldSums(String(marketId), BigInt(from[0]!), PRUNE_CHUNK_ROWS)) {
      let isDone = false
      while (!isDone && !signal?.aborted) {
        await upkeep.write(function* () {
          const [gone] = yield deletion
          isDone = gone!.length < PRUNE_CHUNK_ROWS
          // Answers do not change.
          return 0
        })
        await nextRound()
      }
    }
  }
}

/** Prunes the points of one series, and builds its stale buckets now and then. */
class SeriesPruner {
  readonly #upkeep: Upkeep
  readonly #bound: PruneBound
  readonly #series: MarketSeries
  readonly #isDryRun: boolean
  /** Number of points deleted since the stale buckets were built. */
  #unbuilt = 0

  constructor(upkeep: Upkeep, bound: PruneBound, series: MarketSeries, isDryRun: boolean) {
    this.#upkeep = upkeep
    this.#bound = bound
    this.#series = series
    this.#isDryRun = isDryRun
  }

  /** Prunes the next points. After the last ones it builds what is still stale. */
  async pruneChunk(after: PointKey | null): Promise<PrunedChunk<PointKey>> {
    const chunk = await prunePoints(this.#upkeep, this.#bound, this.#series, after, this.#isDryRun)
    if (this.#isDryRun) return chunk
    this.#unbuilt += chunk.rows
    const most = chunk.last === null ? 1 : MOST_STALE
    if (this.#unbuilt >= most) await this.#build()
    return chunk
  }

  async #build(): Promise<void> {
    const series = this.#series
    await this.#upkeep.write(function* () {
      yield* buildStaleBuckets(series)
      // Answers do not change.
      return 0
    })
    this.#unbuilt = 0
  }
}

/** As for other rows; also updates the points' spans, and marks their series buckets as stale. */
async function prunePoints(
  upkeep: Upkeep,
  bound: PruneBound,
  series: MarketSeries,
  after: PointKey | null,
  isDryRun: boolean,
): Promise<PrunedChunk<PointKey>> {
  const nextRows = await upkeep.read(nextPoints(bound, series, after, PRUNE_CHUNK_ROWS))
  const [timestamp, seq] = (nextRows.at(-1) ?? []) as string[]
  if (timestamp === undefined) return { rows: 0, last: null }
  const last = { timestamp: BigInt(timestamp), seq: BigInt(seq!) }
  const next = nextRows.length < PRUNE_CHUNK_ROWS ? null : last
  const old = nextRows.filter(([, , isOld]) => isOld === 1)
  if (old.length === 0 || isDryRun) return { rows: old.length, last: next }
  const seqs = [...new Set(old.map(([, seq]) => BigInt(seq!)))]
  const rows = await upkeep.write(function* (): Mutation<number> {
    // Locked before rows of a period are deleted: a writer that adds points to the period changes the span later, and waits
    // there.
    yield lockSpans(series, BigInt(old[0]![0]!), BigInt(old.at(-1)![0]!))
    yield lockSeries(series)
    // Read again, now that nobody can add points to these periods: the marks must cover every deleted point.
    const going = oldPoints(bound, series, after, last, seqs)
    const points = (yield going.read)
      .flat()
      .map(([time, seq]) => ({ timestamp: BigInt(time!), seq: BigInt(seq!) }))
      .sort((a, b) => Number(a.timestamp - b.timestamp))
    if (points.length === 0) return 0
    const built = yield* asMutation(readBuiltSeries(series))
    const end = built.to * BASE.nanoseconds
    yield* markStale(
      series,
      points.map(({ timestamp }) => timestamp).filter((timestamp) => timestamp < end),
    )
    yield going.delete
    yield noteBound(bound)
    yield* shrinkSpans(
      series,
      points.map(({ seq }) => seq),
    )
    return points.length
  })
  return { rows, last: next }
}
