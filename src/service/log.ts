import { createRequire } from 'node:module'
import { type Logger, type LoggerOptions, pino } from 'pino'
import { printable } from '#core/domain/printable'

/** The levels that `--log-level` takes. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Texts from events may occur in any message. */
const hooks: NonNullable<LoggerOptions['hooks']> = {
  logMethod(args, method) {
    const printed = args.map((arg: unknown) => (typeof arg === 'string' ? printable(arg) : arg))
    method.apply(this, printed as typeof args)
  },
}

/** Logs to standard error: lines for people on a terminal, JSON otherwise. */
export function createLogger(level: string): Logger {
  if (process.stderr.isTTY) {
    const { PinoPretty } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
    return pino(
      { level, base: null, hooks },
      PinoPretty({
        destination: 2,
        sync: true,
        ignore: 'source,record,offset,reason',
        translateTime: 'HH:MM:ss',
      }),
    )
  }
  return pino({ level, hooks }, pino.destination({ dest: 2, sync: true }))
}
