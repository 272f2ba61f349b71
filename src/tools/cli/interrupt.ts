import type { Logger } from 'pino'
import type { Store } from '#core/store/store'
import { STOP_SIGNALS } from '#service/stop-signals'
import { EXIT } from './exit.ts'
import { watchLog } from './watch-log.ts'

/** A signal that the first of {@link STOP_SIGNALS} aborts; the second one ends the program as usual. */
export function stopOnSignals(): AbortSignal {
  const stop = new AbortController()
  for (const name of STOP_SIGNALS) process.once(name, () => stop.abort())
  return stop.signal
}

/** The same for a command that writes; it also logs that the current batch is still committed. */
export function stopAfterBatch(logger: Logger): AbortSignal {
  const signal = stopOnSignals()
  signal.addEventListener('abort', () => logger.info('stopping after committing the current batch'))
  return signal
}

/**
 * Runs work that {@link STOP_SIGNALS} can interrupt. If it is interrupted, this returns null, sets the exit status and logs
 * a message.
 *
 * @param message the message to log
 * @param read the stores that the work reads for long
 */
export async function interruptible<T>(
  logger: Logger,
  message: string,
  read: readonly Store[],
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const signal = stopOnSignals()
  using watches = new DisposableStack()
  for (const store of read) watches.defer(watchLog(store, logger))
  try {
    return await run(signal)
  } catch (error) {
    if (!signal.aborted) throw error
    logger.info(message)
    process.exitCode = EXIT.interrupted
    return null
  }
}
