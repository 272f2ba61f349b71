import { writeSync } from 'node:fs'
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
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
  if (process.stderr.isTTY) return pino({ level, base: null, hooks }, TERMINAL)
  return pino({ level, hooks }, pino.destination({ dest: 2, sync: true }))
}

/** Fields of an entry that its line has in another form, or that its message says already. */
const SAID = ['level', 'time', 'msg', 'err', 'source', 'record', 'offset', 'reason']

type Entry = { level: number; time: number; msg?: string; err?: { stack?: string } }

const TERMINAL: DestinationStream = {
  write: (line) => {
    writeSync(2, describeEntry(JSON.parse(line) as Entry))
  },
}

/** An entry of the log for people: `[12:34:56] WARN: what happened`, and below it what else it has. */
function describeEntry(entry: Entry): string {
  const { level, time, msg = '', err } = entry
  const clock = new Date(time).toTimeString().slice(0, 8)
  const lines = [`[${clock}] ${(pino.levels.labels[level] ?? String(level)).toUpperCase()}: ${msg}`]
  for (const [name, value] of Object.entries(entry)) {
    if (!SAID.includes(name)) lines.push(`    ${name}: ${JSON.stringify(value)}`)
  }
  if (err?.stack !== undefined) lines.push(...err.stack.split('\n').map((text) => `    ${printable(text)}`))
  return `${lines.join('\n')}\n`
}
