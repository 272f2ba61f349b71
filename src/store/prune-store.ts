import { setTimeout as sleep } from 'node:timers/promises'
import type { CheckpointKey, PointKey, PointRun, PruneBound, PrunedChunk, Pruner } from './pruner.ts'
import type { Store } from './store.ts'

/** Rows that are looked at in one transaction: it takes some milliseconds. */
const CHUNK_ROWS = 1_000

/** The least wait behind a chunk that has taken rows out: writers come in between. */
const LEAST_WAIT_MS = 5

/** What has been taken out. */
export type PruneReport = { checkpoints: number; fundingPeriodDataPoints: number }

export type PruneOptions = {
  signal?: AbortSignal
  /** Is told, after each chunk that has taken rows out, how many are gone by now. */
  onProgress?: (report: PruneReport) => void
}

/**
 * Takes checkpoints and data points out that are older than a bound, in chunks, so that neither readers nor a
 * writer at work wait for long. Whatever ends it, every chunk is whole.
 *
 * @throws {StoreError} where the store cannot be written.
 */
export async function pruneStore(
  store: Store,
  bound: PruneBound,
  { signal, onProgress }: PruneOptions = {},
): Promise<PruneReport> {
  const report: PruneReport = { checkpoints: 0, fundingPeriodDataPoints: 0 }
  const pruner = await store.openPruner()

  async function walk<Key>(
    table: keyof PruneReport,
    takeOut: (after: Key | null) => Promise<PrunedChunk<Key>>,
  ): Promise<void> {
    let after: Key | null = null
    do {
      if (signal?.aborted) return
      const startedAt = performance.now()
      const { rows, last }: PrunedChunk<Key> = await takeOut(after)
      after = last
      if (rows === 0) continue
      report[table] += rows
      onProgress?.(report)
      await sleep(Math.max(LEAST_WAIT_MS, performance.now() - startedAt))
    } while (after !== null)
  }

  try {
    await walk<CheckpointKey>('checkpoints', (after) => pruner.checkpoints(bound, after, CHUNK_ROWS))
    for (const run of await runsOf(pruner)) {
      await walk<PointKey>('fundingPeriodDataPoints', (after) =>
        pruner.dataPoints(bound, run, after, CHUNK_ROWS),
      )
    }
  } finally {
    await pruner.close()
  }
  return report
}

async function runsOf(pruner: Pruner): Promise<PointRun[]> {
  const markets = await pruner.markets()
  return markets.flatMap((market) => ([0n, 1n, 2n] as const).map((source) => ({ market, source })))
}
