/** Maximum length of a row in characters. The largest real ones, markets with their oracles, have about ten thousand. */
const MAX_ROW_LENGTH = 2 * 1024 * 1024

/** Maximum number of columns; the widest real table has 39. */
const MAX_COLUMNS = 1_000

/** The text is not in the format of PostgreSQL's `COPY ... CSV`. The message names the row and the fault. */
export class CsvError extends Error {
  override name = 'CsvError'
}

/**
 * Reads the output of PostgreSQL's `COPY ... WITH (FORMAT csv, HEADER)`, in pieces of any size. A field with a comma, a
 * quote (which is doubled) or a line break is in quotes; an empty field without quotes is null. The memory is limited by
 * the maximum length of a row.
 */
export type CsvReader = {
  /** A field of the row that was just read; null if the column is null. */
  field(column: number): string | null
  /** The names of the columns; null before the header line. */
  header(): string[] | null
  /**
   * Takes a piece of the text.
   *
   * @throws {CsvError} for text that is not CSV, and for a row with other columns than the header.
   */
  push(bytes: Uint8Array): void
  /**
   * Must be called at the end of the text, which may end with or without a line break.
   *
   * @throws {CsvError} if it ends within quotes, and as {@link push}.
   */
  end(): void
}

/** @param onRow called after each row, except the header line */
export function createCsvReader(onRow: () => void): CsvReader {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let header: string[] | null = null
  /** The text that contains the row, and where the row's fields begin and end in it. */
  let text = ''
  const starts = new Uint32Array(MAX_COLUMNS)
  const ends = new Uint32Array(MAX_COLUMNS)
  /** The beginning of an incomplete row. */
  let rest = ''
  let rows = 0

  function field(column: number): string | null {
    const [start, end] = [starts[column]!, ends[column]!]
    if (start === end) return null
    const isQuoted = text[start] === '"'
    return isQuoted ? text.slice(start + 1, end - 1).replaceAll('""', '"') : text.slice(start, end)
  }

  function decode(bytes: Uint8Array | undefined): string {
    let decoded: string
    try {
      decoded = bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch {
      throw new CsvError(`invalid UTF-8 after row ${rows}`)
    }
    if (decoded.includes('\0')) {
      throw new CsvError(`a NUL character after row ${rows}, which no database can store`)
    }
    return decoded
  }

  /** Reads the rows of the text, field by field. */
  function take(): void {
    let [rowStart, count, at] = [0, 0, 0]
    let [lineEnd, comma, quote] = [-1, -1, -1]
    const find = (character: string) => {
      const index = text.indexOf(character, at)
      return index < 0 ? text.length : index
    }
    for (;;) {
      if (lineEnd < at) lineEnd = find('\n')
      if (lineEnd === text.length) break
      if (quote < at) quote = find('"')
      let end = at
      if (quote === at) {
        // After the closing quote: quotes within the field are doubled.
        do end = text.indexOf('"', end + 1) + 1
        while (end > 0 && text[end] === '"')
        if (end === 0 || end === text.length) break
      } else {
        if (comma < at) comma = find(',')
        end = comma < lineEnd ? comma : lineEnd
        if (quote < end) throw new CsvError(`row ${rows + 1} has a quote within a field that is not quoted`)
      }
      if (count === MAX_COLUMNS) throw new CsvError(`a row of more than ${MAX_COLUMNS} fields`)
      starts[count] = at
      ends[count++] = end
      at = end + 1
      if (end === lineEnd || text[end] === '\n') {
        handOn(count)
        rowStart = at
        count = 0
      } else if (text[end] !== ',') {
        throw new CsvError(`row ${rows + 1} has text after the end of a quoted field`)
      }
    }
    rest = text.slice(rowStart)
  }

  function handOn(count: number): void {
    rows++
    if (header === null) {
      header = Array.from({ length: count }, (_, column) => field(column) ?? '')
      return
    }
    if (count !== header.length) {
      throw new CsvError(`row ${rows} has ${count} fields, but the header has ${header.length}`)
    }
    onRow()
  }

  return {
    field,
    header: () => header,
    push(bytes: Uint8Array): void {
      text = rest + decode(bytes)
      take()
      if (rest.length > MAX_ROW_LENGTH) {
        throw new CsvError(`row ${rows + 1} has more than ${MAX_ROW_LENGTH} characters`)
      }
    },
    end(): void {
      text = rest + decode(undefined)
      if (text === '') return
      text += '\n'
      take()
      if (rest !== '') throw new CsvError(`row ${rows + 1} ends within quotes`)
    },
  }
}
