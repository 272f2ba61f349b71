import { printable, printableLines } from '../domain/printable.ts'
import type { TextFormatName } from '../export/text-formats.ts'

/** For errors of standard output: its reader may stop early, as in `lyra export ... | head`. */
export function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
}

/** Whole rows of an export as a terminal may show them, one a line. */
export function forTerminal(rows: string, format: TextFormatName): string {
  return printableLines(
    format === 'csv' ? rows.replaceAll(/"[^"]*"/g, printable).replaceAll('\r\n', '\n') : rows,
  )
}
