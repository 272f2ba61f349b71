import { writeSync } from 'node:fs'
import { printable, printableLines } from '#core/domain/printable'
import type { TextFormatName } from '#service/formats/text-formats'
import { EXIT } from './exit.ts'

/**
 * Handles errors of standard output. Its reader may stop early, as in `lyra export ...
 * head`. At any other fault, such as a full disk with `lyra export ... > file`, the program ends with a message in one
 * line.
 */
export function endAtOutputFault(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_PREMATURE_CLOSE') return
  try {
    writeSync(2, `lyra: standard output cannot be written (${printable(error.message)})\n`)
  } catch {
    // Nobody can read a message.
  }
  process.exit(EXIT.failure)
}

/** Prints a command's one result as JSON. */
export function printJson(result: object): void {
  console.log(JSON.stringify(result, null, 2))
}

/** Whole rows of an export, each on one line and escaped for a terminal. */
export function forTerminal(rows: string, format: TextFormatName): string {
  return printableLines(
    format === 'csv' ? rows.replaceAll(/"[^"]*"/g, printable).replaceAll('\r\n', '\n') : rows,
  )
}
