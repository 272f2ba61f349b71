import { type Logger, pino } from 'pino'
import { PinoPretty } from 'pino-pretty'

/** The levels that `--log-level` takes. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** A log on standard error: lines for people on a terminal, JSON elsewhere. */
export function createLogger(level: string): Logger {
  if (process.stderr.isTTY) {
    return pino(
      { level, base: null },
      PinoPretty({
        destination: 2,
        sync: true,
        ignore: 'source,record,offset,reason',
        translateTime: 'HH:MM:ss',
      }),
    )
  }
  return pino({ level }, pino.destination({ dest: 2, sync: true }))
}
