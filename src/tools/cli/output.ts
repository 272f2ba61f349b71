import { writeSync } from 'node:fs'
import { printable, printableLines } from '#core/domain/printable'
import type { TextFormatName } from '#service/formats/text-formats'
import { EXIT } from './exit.ts'

/**
 * For errors of standard output: its reader may stop early, as in `lyra export ... | head`; at any other fault, as a full disk
 * under `lyra export ... > file`, the program ends with a line that says so.
 */
export function endAtOutputFault(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_PREMATURE_CLOSE') return
  try {
    writeSync(2, `lyra: standard output cannot be written (${printable(error.message)})\n`)
  } catch {
    // Nobody can be told.
  }
  process.exit(EXIT.failure)
}

/** Prints a command's one result as JSON. */
export function printJson(result: object): void {
  console.log(JSON.stringify(result, null, 2))
}

/** Whole rows of an export, escaped for a terminal, one per line. */
export function forTerminal(rows: string, format: TextFormatName): string {
  return printableLines(
    format === 'csv' ? rows.replaceAll(/"[^"]*"/g, printable).replaceAll('\r\n', '\n') : rows,
  )
}
