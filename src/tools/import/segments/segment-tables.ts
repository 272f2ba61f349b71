import { ImportError } from '../import-error.ts'
import type { SourceProgress } from '../source.ts'
import { CsvError, CsvReader } from './csv-reader.ts'
import { METADATA } from './segment-metadata.ts'
import type { ZipDirectory } from './zip-file.ts'

/** Maximum length of a header line; real ones have a few hundred bytes. */
const MAX_HEADER_LINE_BYTES = 64 * 1024

/** Cached header lines, because thousands of segments have the same ones. */
const HEADER_LINES = new Map<string, string[]>()
const MAX_HEADER_LINES = 1_000

function sharedHeader(header: string[]): string[] {
  const text = header.join('\0')
  const shared = HEADER_LINES.get(text)
  if (shared === undefined && HEADER_LINES.size < MAX_HEADER_LINES) HEADER_LINES.set(text, header)
  return shared ?? header
}

/** The header lines of the tables, by entry. */
export async function readHeaderLines(path: string, zip: ZipDirectory): Promise<Map<string, string[]>> {
  const columns = new Map<string, string[]>()
  for (const entry of zip.names) {
    if (entry === METADATA) continue
    const reader = new CsvReader(() => {})
    try {
      for await (const piece of zip.read(entry)) {
        reader.push(piece.subarray(0, MAX_HEADER_LINE_BYTES))
        if (reader.header !== null) break
      }
      if (reader.header === null) reader.end()
      const header = reader.header
      if (header !== null) columns.set(entry, sharedHeader(header))
    } catch (error) {
      throw explainCsvError(path, entry, error)
    }
  }
  return columns
}

/** Reads the rows of an entry; yields after each piece. */
export async function* readEntryRows(
  path: string,
  zip: ZipDirectory,
  entry: string,
  { progress, signal }: { progress: SourceProgress; signal: AbortSignal | undefined },
  onRow: (row: CsvReader) => void,
): AsyncGenerator<void, void, undefined> {
  const reader = new CsvReader(() => {
    progress.rows++
    onRow(reader)
  })
  progress.source = path
  const onRead = (bytes: number) => {
    progress.bytesRead += bytes
  }
  try {
    for await (const piece of zip.read(entry, onRead)) {
      signal?.throwIfAborted()
      reader.push(piece)
      yield
    }
    reader.end()
    yield
  } catch (error) {
    throw explainCsvError(path, entry, error)
  }
}

function explainCsvError(path: string, entry: string, error: unknown): unknown {
  if (!(error instanceof CsvError)) return error
  return new ImportError(`${path}: its entry ${entry} is damaged: ${error.message}. Copy the segment again`, {
    cause: error,
  })
}
