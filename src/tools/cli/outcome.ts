import { printable } from '#core/domain/printable'
import { EXIT, exitCodeOf } from './exit.ts'

/** Prints a command's result: as a line of JSON, or in words. */
export function showReport<Report>(
  report: Report,
  failure: Error | null,
  { json, describe }: { json: boolean; describe: (report: Report) => string },
): void {
  if (json) console.log(JSON.stringify({ type: 'report', ...report, error: failure?.message ?? null }))
  else console.log(describe(report))
}

/** Prints the error that stopped a command, if any, and sets its exit status. */
export function showFailure(failure: Error | null, { interrupted }: { interrupted: boolean }): void {
  if (failure !== null) {
    console.error(`lyra: ${printable(failure.message)}`)
    process.exitCode = exitCodeOf(failure)
  } else if (interrupted) {
    process.exitCode = EXIT.interrupted
  }
}
