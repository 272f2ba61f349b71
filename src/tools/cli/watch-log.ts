import type { Logger } from 'pino'
import { LONG_LOG_BYTES, megabytes } from '#core/store/long-log'
import type { Store } from '#core/store/store'

const WATCH_INTERVAL_MS = 1_000

/**
 * Warns when a store's WAL grows long while a command reads the store: it cannot be emptied before the reading ends.
 * Warns again each time the WAL has doubled. Returns a function that stops watching.
 */
export function watchLog(store: Store, log: Logger): () => void {
  let warnAt = LONG_LOG_BYTES
  const look = () => {
    const bytes = store.log?.bytes() ?? 0
    if (bytes <= warnAt) return
    warnAt = 2 * bytes
    log.warn(
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
