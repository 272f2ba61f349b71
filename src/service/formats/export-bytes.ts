import {
  type ExportedRow,
  type ExportQuery,
  type ExportSource,
  exportRows,
  type LineSource,
  type TimesForm,
} from './export-rows.ts'
import { type ParquetOptions, parquetOf } from './parquet.ts'
import { exportText, TEXT_FORMATS, type TextFormatName } from './text-formats.ts'

export type ExportFormat = TextFormatName | 'parquet'

/** The content types of the formats of exports. */
export const EXPORT_TYPES: Readonly<Record<ExportFormat, string>> = {
  ndjson: TEXT_FORMATS.ndjson.contentType,
  csv: TEXT_FORMATS.csv.contentType,
  parquet: 'application/vnd.apache.parquet',
}

/** The formats that have each form of times. */
export const FORMATS_OF_TIMES: Readonly<Record<TimesForm, readonly ExportFormat[]>> = {
  iso: ['csv', 'ndjson'],
  micros: ['parquet'],
  local: ['parquet'],
}

export const TIMES_FORMS = Object.keys(FORMATS_OF_TIMES) as TimesForm[]

export const EXPORT_FORMATS = Object.keys(EXPORT_TYPES) as ExportFormat[]

export type BytesOptions = ParquetOptions & {
  signal?: AbortSignal
  /** Called with rows as they are written. */
  onRows?: (count: number) => void
}

/**
 * All rows of a query in a format, piece by piece.
 *
 * @throws {ExportError} for a number that a decimal of Parquet cannot hold.
 */
export async function* exportBytes(
  query: ExportQuery,
  format: ExportFormat,
  source: ExportSource & LineSource,
  { signal, onRows = () => {}, ...options }: BytesOptions,
): AsyncGenerator<string | Uint8Array, void, undefined> {
  if (format === 'parquet') {
    yield* parquetOf(counted(exportRows(query, source, signal), onRows), query, options)
    return
  }
  for await (const { text, count } of exportText(query, format, source, signal)) {
    yield text
    onRows(count)
  }
}

async function* counted(
  chunks: AsyncIterable<ExportedRow[]>,
  onRows: (count: number) => void,
): AsyncGenerator<ExportedRow[], void, undefined> {
  for await (const rows of chunks) {
    yield rows
    onRows(rows.length)
  }
}
