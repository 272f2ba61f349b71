import { withoutFormula } from '#core/domain/formula'
import { formatTime } from '#core/domain/time'
import type { Resource } from '#core/model/resource'
import { type CellValue, type ExportColumn, exportTableOf } from './columns.ts'
import {
  type ExportedRow,
  type ExportQuery,
  type ExportSource,
  exportLines,
  exportRows,
  type LineSource,
  type TimesForm,
} from './export-rows.ts'
import { timeNamesOf, withIsoTimes } from './iso-times.ts'

/** The text formats, whose lines are independent of each other. */
export type TextFormatName = 'ndjson' | 'csv'

/** A writer of rows as text. */
type TextFormat = {
  contentType: string
  /** Creates the writer of a resource's rows. */
  writerOf(resource: Resource, times?: TimesForm): TextWriter
}

type TextWriter = {
  /** Text before the rows. */
  head: string
  line(row: ExportedRow): string
}

export const TEXT_FORMATS: Record<TextFormatName, TextFormat> = {
  /** One object a line: the node of the API, with the row's cursor as one more field. */
  ndjson: {
    contentType: 'application/x-ndjson',
    writerOf: ({ node, fields, finalRow = (row) => row }, times) => {
      const names = timeNamesOf(fields)
      const shown = (json: string) => (times === 'iso' ? withIsoTimes(json, names) : json)
      return {
        head: '',
        line: ({ row, cursor, selection }) =>
          `${shown(node(finalRow(row), selection)).slice(0, -1)},"cursor":"${cursor}"}\n`,
      }
    },
  },

  /** RFC 4180, the names of the columns first. There is nothing for no value; an empty text is `""`. */
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    writerOf: (resource, times) => {
      const { columns, cells } = exportTableOf(resource)
      const { head, line } = csvWriter(columns, times)
      return {
        head: `${head},cursor\r\n`,
        line: ({ row, cursor, selection }) => `${line(cells(row, selection))},${cursor}\r\n`,
      }
    },
  },
}

/** A writer of lines of CSV, without their ends. */
type CsvWriter = {
  /** The names of the columns. */
  head: string
  /** The line of a row: of each column its cell. */
  line(cells: readonly CellValue[]): string
}

/** Creates the writer of a table with these columns. */
export function csvWriter(
  columns: readonly Pick<ExportColumn, 'name' | 'kind' | 'decimal'>[],
  times?: TimesForm,
): CsvWriter {
  const written = (cell: CellValue, at: number) => {
    const { kind, decimal } = columns[at]!
    // An empty number means null.
    if (cell === null || (cell === '' && decimal !== undefined)) return ''
    return times === 'iso' && kind === 'time' ? formatTime(BigInt(cell), 'all digits') : csvCell(cell)
  }
  return {
    head: columns.map(({ name }) => name).join(','),
    line: (cells) => cells.map(written).join(','),
  }
}

/** All rows of a query as text, many lines at a time, each piece with its number of rows. */
export async function* exportText(
  query: ExportQuery,
  format: TextFormatName,
  source: ExportSource & LineSource,
  signal?: AbortSignal,
): AsyncGenerator<{ text: string | Uint8Array; count: number }, void, undefined> {
  const { lines, read } = source
  const { resource, selection, times } = query
  const isAsStored =
    resource.finalRow === undefined && !resource.lists.areCutBy(selection) && times === undefined
  if (format === 'ndjson' && lines !== undefined && isAsStored) {
    yield* exportLines(query, { lines, read }, signal)
    return
  }
  const { head, line } = TEXT_FORMATS[format].writerOf(query.resource, query.times)
  if (head !== '') yield { text: head, count: 0 }
  for await (const rows of exportRows(query, source, signal)) {
    let text = ''
    for (const row of rows) text += line(row)
    yield { text, count: rows.length }
  }
}

function csvCell(cell: string): string {
  const value = withoutFormula(cell)
  // Some spreadsheets end cells at semicolons or tabs.
  return value === '' || /[",;\t\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
