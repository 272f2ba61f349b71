/** Characters of one row: the largest real ones, a market with its oracles, have some ten thousand. */
const MAX_ROW_LENGTH = 2 * 1024 * 1024

/** Pieces of a field joined at once: joined one by one, each would stay in memory. */
const MAX_PIECES = 1_000

/** Columns of a table; the widest real one has 39. */
const MAX_COLUMNS = 1_000

/** The text is not in the format of PostgreSQL's `COPY ... CSV`; the message names the row and the fault. */
export class CsvError extends Error {
  override name = 'CsvError'
}

/** The row that has just been read: it changes with the next one. */
export class CsvRow {
  /** The text that the row is a part of, and where its fields begin and end in it. */
  #text = ''
  readonly #starts = new Uint32Array(MAX_COLUMNS)
  readonly #ends = new Uint32Array(MAX_COLUMNS)
  /** The fields of a row that has quotes; null for any other. */
  #fields: readonly (string | null)[] | null = null
  #count = 0

  get count(): number {
    return this.#count
  }

  /** The text of a field; null if the column is null. */
  text(column: number): string | null {
    if (this.#fields !== null) return this.#fields[column]!
    const [start, end] = [this.#starts[column]!, this.#ends[column]!]
    return start === end ? null : this.#text.slice(start, end)
  }

  /** Points it at a line without quotes. */
  setLine(text: string, start: number, end: number): void {
    this.#text = text
    this.#fields = null
    let count = 0
    let from = start
    for (;;) {
      if (count === MAX_COLUMNS) throw new CsvError(`a row of more than ${MAX_COLUMNS} fields`)
      const comma = text.indexOf(',', from)
      const to = comma < 0 || comma > end ? end : comma
      this.#starts[count] = from
      this.#ends[count++] = to
      if (to === end) break
      from = to + 1
    }
    this.#count = count
  }

  setFields(fields: readonly (string | null)[]): void {
    this.#fields = fields
    this.#count = fields.length
  }
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
  readonly #onRow: (row: CsvRow) => void
  readonly #row = new CsvRow()
  /** The beginning of an unfinished row. */
  #rest = ''
  #rows = 0

  /** `onRow` is called with each row but the header line. */
  constructor(onRow: (row: CsvRow) => void) {
    this.#onRow = onRow
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

  #take(text: string): void {
    let at = 0
    let quote = indexOrEnd(text, '"', 0)
    for (;;) {
      const lineEnd = text.indexOf('\n', at)
      if (lineEnd < 0) break
      if (lineEnd < quote) {
        this.#row.setLine(text, at, lineEnd)
        at = lineEnd + 1
      } else {
        const end = this.#readQuoted(text, at)
        if (end === null) break
        at = end
        quote = indexOrEnd(text, '"', at)
      }
      this.#handOn()
    }
    this.#rest = text.slice(at)
  }

  #handOn(): void {
    const row = this.#row
    this.#rows++
    if (this.header === null) {
      this.header = Array.from({ length: row.count }, (_, column) => row.text(column) ?? '')
      return
    }
    if (row.count !== this.header.length) {
      throw new CsvError(
        `row ${this.#rows} has ${row.count} fields, but the header has ${this.header.length}`,
      )
    }
    this.#onRow(row)
  }

  /** Reads a row with quotes, from `start`; returns the start of the next one, null if the row is unfinished. */
  #readQuoted(text: string, start: number): number | null {
    const fields: (string | null)[] = []
    let at = start
    for (;;) {
      let end: number
      if (text[at] === '"') {
        let value = ''
        let pieces: string[] = []
        let from = at + 1
        for (;;) {
          const quote = text.indexOf('"', from)
          if (quote < 0) return null
          pieces.push(text.slice(from, quote))
          if (text[quote + 1] !== '"') {
            end = quote + 1
            break
          }
          if (pieces.length === MAX_PIECES) {
            value += `${pieces.join('"')}"`
            pieces = []
          }
          from = quote + 2
        }
        fields.push(value + pieces.join('"'))
      } else {
        end = Math.min(indexOrEnd(text, ',', at), indexOrEnd(text, '\n', at), text.length)
        const value = text.slice(at, end)
        if (value.includes('"')) {
          throw new CsvError(`row ${this.#rows + 1} has a quote within a field that is not quoted`)
        }
        fields.push(value === '' ? null : value)
      }
      const separator = text[end]
      if (separator === undefined) return null
      if (separator !== ',' && separator !== '\n') {
        throw new CsvError(`row ${this.#rows + 1} has text after the end of a quoted field`)
      }
      at = end + 1
      if (separator === '\n') {
        this.#row.setFields(fields)
        return at
      }
    }
  }
}

/** Index of a character, or beyond any text if it is absent. */
function indexOrEnd(text: string, character: string, from: number): number {
  const index = text.indexOf(character, from)
  return index < 0 ? Number.MAX_SAFE_INTEGER : index
}
