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
export class CsvReader {
  readonly #onRow: () => void
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  #header: string[] | null = null
  /** The text that contains the row, and where the row's fields begin and end in it. */
  #text = ''
  readonly #starts = new Uint32Array(MAX_COLUMNS)
  readonly #ends = new Uint32Array(MAX_COLUMNS)
  /** The beginning of an incomplete row. */
  #rest = ''
  #rows = 0

  /** @param onRow called after each row, except the header line */
  constructor(onRow: () => void) {
    this.#onRow = onRow
  }

  /** The names of the columns; null before the header line. */
  get header(): string[] | null {
    return this.#header
  }

  /** A field of the row that was just read; null if the column is null. */
  field(column: number): string | null {
    const text = this.#text
    const start = this.#starts[column]!
    const end = this.#ends[column]!
    if (start === end) return null
    const isQuoted = text[start] === '"'
    return isQuoted ? text.slice(start + 1, end - 1).replaceAll('""', '"') : text.slice(start, end)
  }

  /**
   * Takes a piece of the text.
   *
   * @throws {CsvError} for text that is not CSV, and for a row with other columns than the header.
   */
  push(bytes: Uint8Array): void {
    this.#text = this.#rest + this.#decode(bytes)
    this.#readRows()
    if (this.#rest.length > MAX_ROW_LENGTH) {
      throw new CsvError(`row ${this.#rows + 1} has more than ${MAX_ROW_LENGTH} characters`)
    }
  }

  /**
   * Must be called at the end of the text, which may end with or without a line break.
   *
   * @throws {CsvError} if it ends within quotes, and as {@link push}.
   */
  end(): void {
    this.#text = this.#rest + this.#decode(undefined)
    if (this.#text === '') return
    this.#text += '\n'
    this.#readRows()
    if (this.#rest !== '') throw new CsvError(`row ${this.#rows + 1} ends within quotes`)
  }

  #decode(bytes: Uint8Array | undefined): string {
    const decoder = this.#decoder
    let decoded: string
    try {
      decoded = bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch {
      throw new CsvError(`invalid UTF-8 after row ${this.#rows}`)
    }
    if (decoded.includes('\0')) {
      throw new CsvError(`a NUL character after row ${this.#rows}, which no database can store`)
    }
    return decoded
  }

  /** Reads the rows of the text, field by field. */
  #readRows(): void {
    const text = this.#text
    const starts = this.#starts
    const ends = this.#ends
    let rowStart = 0
    let count = 0
    let at = 0
    // The next of each character at or after `at`; the end of the text if there is none.
    let lineEnd = -1
    let comma = -1
    let quote = -1
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
        if (quote < end)
          throw new CsvError(`row ${this.#rows + 1} has a quote within a field that is not quoted`)
      }
      if (count === MAX_COLUMNS) throw new CsvError(`a row of more than ${MAX_COLUMNS} fields`)
      starts[count] = at
      ends[count++] = end
      at = end + 1
      if (end === lineEnd || text[end] === '\n') {
        this.#endRow(count)
        rowStart = at
        count = 0
      } else if (text[end] !== ',') {
        throw new CsvError(`row ${this.#rows + 1} has text after the end of a quoted field`)
      }
    }
    this.#rest = text.slice(rowStart)
  }

  /** @param count the number of its fields */
  #endRow(count: number): void {
    this.#rows++
    if (this.#header === null) {
      this.#header = Array.from({ length: count }, (_, column) => this.field(column) ?? '')
      return
    }
    if (count !== this.#header.length) {
      throw new CsvError(`row ${this.#rows} has ${count} fields, but the header has ${this.#header.length}`)
    }
    this.#onRow()
  }
}
