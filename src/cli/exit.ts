import { GapError, MissingHistoryError } from '../blocks/block.ts'

/** What the program exits with. */
export const EXIT = { ok: 0, failure: 1, usage: 2, gap: 3, interrupted: 130 } as const

/** The exit code for what stopped an ingestion, or was missing at its end. */
export function exitCodeOf(failure: Error): number {
  return failure instanceof GapError || failure instanceof MissingHistoryError ? EXIT.gap : EXIT.failure
}
