import { printable, printableLines } from '#core/domain/printable'
import type { TextFormatName } from '#service/export/text-formats'

/** For errors of standard output: its reader may stop early, as in `lyra export ... | head`. */
export function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
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
