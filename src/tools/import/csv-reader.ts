/** Characters of one row: the largest real ones, a market with its oracles, have some ten thousand. */
const MAX_ROW_LENGTH = 2 * 1024 * 1024

/** Columns of a table; the widest real one has 39. */
const MAX_COLUMNS = 1_000

/** The text is not in the format of PostgreSQL's `COPY ... CSV`; the message names the row and the fault. */
export class CsvError extends Error {
  override name = 'CsvError'
}

/**
 * Reads what PostgreSQL's `COPY ... WITH (FORMAT csv, HEADER)` writes, in pieces of any size: fields are quoted if they
 * hold a comma, a quote (doubled) or a line break; an empty field that is not quoted is null. Memory is bounded by the
 * longest row that is allowed.
 */
export class CsvReader {
  /** Column names; null before the header line. */
  header: string[] | null = null
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  readonly #onRow: () => void
  /** The text that the row is a part of, and where its fields begin and end in it. */
  #text = ''
  readonly #starts = new Uint32Array(MAX_COLUMNS)
  readonly #ends = new Uint32Array(MAX_COLUMNS)
  /** The beginning of an unfinished row. */
  #rest = ''
  #rows = 0

  /** `onRow` is called after each row but the header line has been read. */
  constructor(onRow: () => void) {
    this.#onRow = onRow
  }

  /** The text of a field of the row that has just been read; null if the column is null. */
  field(column: number): string | null {
    const [start, end] = [this.#starts[column]!, this.#ends[column]!]
    if (start === end) return null
    const isQuoted = this.#text[start] === '"'
    return isQuoted
      ? this.#text.slice(start + 1, end - 1).replaceAll('""', '"')
      : this.#text.slice(start, end)
  }

  /**
   * Takes a piece of the text.
   *
   * @throws {CsvError} for text that is not CSV, or whose rows are not of the columns that the header has.
   */
  push(bytes: Uint8Array): void {
    this.#take(this.#rest + this.#decode(bytes))
    if (this.#rest.length > MAX_ROW_LENGTH) {
      throw new CsvError(`row ${this.#rows + 1} has more than ${MAX_ROW_LENGTH} characters`)
    }
  }

  /**
   * The text has ended, with a line break or without.
   *
   * @throws {CsvError} if it ends within quotes, and as {@link push}.
   */
  end(): void {
    const text = this.#rest + this.#decode(undefined)
    if (text === '') return
    this.#take(`${text}\n`)
    if (this.#rest !== '') throw new CsvError(`row ${this.#rows + 1} ends within quotes`)
  }

  #decode(bytes: Uint8Array | undefined): string {
    let text: string
    try {
      text = bytes === undefined ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true })
    } catch {
      throw new CsvError(`invalid UTF-8 after row ${this.#rows}`)
    }
    if (text.includes('\0')) {
      throw new CsvError(`a NUL character after row ${this.#rows}, which no database can store`)
    }
    return text
  }

  /** Reads the rows of a text, field by field. */
  #take(text: string): void {
    this.#text = text
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
        // Past the closing quote: those within are doubled.
        do end = text.indexOf('"', end + 1) + 1
        while (end > 0 && text[end] === '"')
        if (end === 0 || end === text.length) break
      } else {
        if (comma < at) comma = find(',')
        end = comma < lineEnd ? comma : lineEnd
        if (quote < end) {
          throw new CsvError(`row ${this.#rows + 1} has a quote within a field that is not quoted`)
        }
      }
      if (count === MAX_COLUMNS) throw new CsvError(`a row of more than ${MAX_COLUMNS} fields`)
      this.#starts[count] = at
      this.#ends[count++] = end
      at = end + 1
      if (end === lineEnd || text[end] === '\n') {
        this.#handOn(count)
        rowStart = at
        count = 0
      } else if (text[end] !== ',') {
        throw new CsvError(`row ${this.#rows + 1} has text after the end of a quoted field`)
      }
    }
    this.#rest = text.slice(rowStart)
  }

  #handOn(count: number): void {
    this.#rows++
    if (this.header === null) {
      this.header = Array.from({ length: count }, (_, column) => this.field(column) ?? '')
      return
    }
    if (count !== this.header.length) {
      throw new CsvError(`row ${this.#rows} has ${count} fields, but the header has ${this.header.length}`)
    }
    this.#onRow()
  }
}
