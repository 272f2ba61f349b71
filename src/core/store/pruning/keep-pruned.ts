import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { formatTime, timeBefore } from '../../domain/time.ts'
import { readStoreHead } from '../queries/coverage.ts'
import { readStore } from '../read-store.ts'
import type { StoreAdmin } from '../store.ts'
import { describePruned, pruneStore } from './prune-store.ts'

const INTERVAL_MS = 3_600_000

type KeepOptions = {
  store: StoreAdmin
  /** Maximum age of rows, counted back from the last block, in nanoseconds. */
  keep: bigint
  logger: Logger
  signal: AbortSignal
  /** Called after each attempt. */
  onAttempt?: (hasFailed: boolean) => void
}

/**
 * Prunes old rows at once and then every hour, until the signal is aborted. Age is counted back from the last block: a
 * store that ingests an old stream, or whose network has halted, does not lose its rows.
 */
export async function keepPruned({ store, keep, logger, signal, onAttempt }: KeepOptions): Promise<void> {
  while (!signal.aborted) {
    try {
      const storeHead = await readStore(store, readStoreHead)
      if (storeHead !== null) {
        const before = timeBefore(BigInt(storeHead.timestamp), keep)
        const pruned = await pruneStore(store, { by: 'time', before }, { signal })
        if (Object.values(pruned).some((rows) => rows > 0))
          logger.info(`pruned, older than ${formatTime(before)}: ${describePruned(pruned)}`)
      }
      onAttempt?.(false)
    } catch (error) {
      onAttempt?.(true)
      logger.error(`old rows cannot be pruned: ${(error as Error).message}; next attempt in an hour`)
    }
    await sleep(INTERVAL_MS, undefined, { signal }).catch(() => {})
  }
}
