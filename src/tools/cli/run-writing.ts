import type { Logger } from 'pino'
import { withOpen } from '#core/concurrency/with-open'
import { printable } from '#core/domain/printable'
import { findStore } from '#core/store/open-store'
import type { Writer } from '#core/store/store'
import { EXIT, exitCodeOf } from './exit.ts'
import type { CommonOptions } from './options.ts'
import { createProgressView, type ProgressView } from './progress.ts'

/** The minimum of a report: whether the work was interrupted. */
type WritingReport = { interrupted: boolean }

/**
 * Runs work that writes to a store, shows its progress, and prints its result in words or as a line of JSON. Prints the
 * error that stopped it, if any, and sets the exit status.
 *
 * @param noun the name of the records that it reads
 */
export async function runWriting<Report extends WritingReport>(
  logger: Logger,
  { store, json }: CommonOptions & { json: boolean },
  signal: AbortSignal,
  noun: string,
  describe: (report: Report) => string,
  run: (
    writer: Writer,
    onProgress: ProgressView['show'],
  ) => Promise<{ report: Report; failure: Error | null }>,
): Promise<void> {
  const opening = (await findStore(store)).openWriter({ signal, onNotice: (message) => logger.warn(message) })
  const writer = await opening.catch((error) => {
    if (!signal.aborted) throw error
    return null
  })
  if (writer === null) {
    process.exitCode = EXIT.interrupted
    return
  }
  const view = createProgressView(logger, json, noun)
  const { report, failure } = await withOpen(Promise.resolve(writer), async () => {
    const result = await run(writer, view.show)
    const { report, failure } = result
    view.end()
    if (json) console.log(JSON.stringify({ type: 'report', ...report, error: failure?.message ?? null }))
    else console.log(describe(report))
    return result
  })
  // Shown after the last flush, which fails again on a full disk: this is reported only once.
  if (failure !== null) {
    console.error(`lyra: ${printable(failure.message)}`)
    process.exitCode = exitCodeOf(failure)
  } else if (report.interrupted) {
    process.exitCode = EXIT.interrupted
  }
}
