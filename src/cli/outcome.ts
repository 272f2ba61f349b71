import { printable } from '../domain/printable.ts'
import { EXIT, exitCodeOf } from './exit.ts'

/** Shows what a command has done: as a line of JSON, or in words. */
export function showReport<Report>(
  report: Report,
  failure: Error | null,
  { json, describe }: { json: boolean; describe: (report: Report) => string },
): void {
  if (json) console.log(JSON.stringify({ type: 'report', ...report, error: failure?.message ?? null }))
  else console.log(describe(report))
}

/** Says what has stopped a command, where something has, and sets its exit status. */
export function showFailure(failure: Error | null, { interrupted }: { interrupted: boolean }): void {
  if (failure !== null) {
    console.error(`lyra: ${printable(failure.message)}`)
    process.exitCode = exitCodeOf(failure)
  } else if (interrupted) {
    process.exitCode = EXIT.interrupted
  }
}
