import { GapError, MissingHistoryError } from '#core/blocks/block'
import { ImportGapError } from '../import/import-error.ts'

/** Exit statuses. */
export const EXIT = { ok: 0, failure: 1, usage: 2, gap: 3, interrupted: 130 } as const

/** The exit status for the error that stopped an ingestion or import, or for what is missing at its end. */
export function exitCodeOf(failure: Error): number {
  const isGap = [GapError, MissingHistoryError, ImportGapError].some((kind) => failure instanceof kind)
  return isGap ? EXIT.gap : EXIT.failure
}
