import type { Logger } from 'pino'
import { findEventInput } from '#core/log/event-input'
import type { EventInput } from '#core/records/event-paths'

/** The event files that a command line names. Other files in named folders are logged. */
export function findInput(paths: readonly string[], logger: Logger): EventInput {
  const input = findEventInput(paths)
  for (const path of input.foreign) logger.warn(`${path}: skipped, not named like an event file`)
  return input
}
