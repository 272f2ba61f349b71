import type { Logger } from 'pino'
import { LONG_WAL_BYTES, megabytes } from '#core/store/long-wal'
import type { Store } from '#core/store/store'

const WATCH_INTERVAL_MS = 1_000

/**
 * Warns if a store's WAL becomes long while a command reads the store, because it cannot be emptied until the command ends;
 * warns again each time its size has doubled. Returns the function that stops watching.
 */
export function watchLog(store: Store, logger: Logger): () => void {
  let warnAt = LONG_WAL_BYTES
  const look = () => {
    const bytes = store.wal?.bytes() ?? 0
    if (bytes <= warnAt) return
    warnAt = 2 * bytes
    logger.warn(
      `${store.name}: its write-ahead log is ${megabytes(bytes)} and cannot be emptied while this command reads; watch the ` +
        'disk, or interrupt the command and run it on a copy (lyra backup) or when less is written',
    )
  }
  look()
  const timer = setInterval(look, WATCH_INTERVAL_MS)
  return () => {
    clearInterval(timer)
    look()
  }
}
