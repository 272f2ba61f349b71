import type { Logger } from 'pino'
import { type EventInput, findEventFiles } from '#core/records/event-paths'

/** The event files that a command line names. Other files in named folders are logged. */
export function findInput(paths: readonly string[], log: Logger): EventInput {
  const input = findEventFiles(paths)
  for (const path of input.foreign) log.warn(`${path}: skipped, not named like an event file`)
  return input
}
