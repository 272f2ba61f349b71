/** A row of a table; null where the column is null. */
export type CsvRow = (string | null)[]

/** Characters of one row: the largest real ones, a market with its oracles, have some ten thousand. */
const MAX_ROW_LENGTH = 16 * 1024 * 1024

/** Text that is not what PostgreSQL's `COPY ... CSV` writes; the message says what is wrong with which row. */
export class CsvError extends Error {
  override name = 'CsvError'
}

/**
 * Reads what PostgreSQL's `COPY ... WITH (FORMAT csv)` writes, in pieces of any size: fields are quoted where they hold a
 * comma, a quote (doubled) or a line break; an empty field that is not quoted is null. Memory is bounded by the longest
 * row that is allowed.
 */
export class CsvReader {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  /** What has come of a row that has not ended. */
  #rest = ''
  #rows = 0
  #columns: number | null = null

  /**
   * Takes a piece of the text; returns the rows that end in it, the header line among them.
   *
   * @throws {CsvError} for text that is not CSV, or not of the columns that the first row has.
   */
  push(bytes: Uint8Array): CsvRow[] {
    return this.#take(this.#rest + this.#decode(bytes), false)
  }

  /**
   * Returns the last row, where the text does not end with a line break.
   *
   * @throws {CsvError} where it ends within quotes, and as {@link push}.
   */
  end(): CsvRow[] {
    const text = this.#rest + this.#decode(undefined)
    return text === '' ? [] : this.#take(`${text}\n`, true)
  }

  #decode(bytes: Uint8Array | undefined): string {
    let text: string
    try {
      text = bytes === undefined ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true })
    } catch {
      throw new CsvError(`invalid UTF-8 after row ${this.#rows}`)
    }
    if (text.includes('\0'))
      throw new CsvError(`a NUL character after row ${this.#rows}, which no database holds`)
    return text
  }

  #take(text: string, isLast: boolean): CsvRow[] {
    const rows: CsvRow[] = []
    let at = 0
    for (;;) {
      const lineEnd = text.indexOf('\n', at)
      if (lineEnd < 0) break
      const line = text.slice(at, lineEnd)
      if (!line.includes('"')) {
        rows.push(this.#checked(plainFields(line)))
        at = lineEnd + 1
        continue
      }
      const end = this.#quotedRow(text, at, rows)
      if (end === null) break
      at = end
    }
    this.#rest = text.slice(at)
    if (isLast && this.#rest !== '') throw new CsvError(`row ${this.#rows + 1} ends within quotes`)
    if (this.#rest.length > MAX_ROW_LENGTH) {
      throw new CsvError(`row ${this.#rows + 1} has more than ${MAX_ROW_LENGTH} characters`)
    }
    return rows
  }

  #checked(row: CsvRow): CsvRow {
    this.#rows++
    this.#columns ??= row.length
    if (row.length !== this.#columns) {
      throw new CsvError(`row ${this.#rows} has ${row.length} fields, and the header ${this.#columns}`)
    }
    return row
  }

  /** Reads a row that has quotes, from `start`; returns where the next one begins, null where it has not ended. */
  #quotedRow(text: string, start: number, rows: CsvRow[]): number | null {
    const row: CsvRow = []
    let at = start
    for (;;) {
      let end: number
      if (text[at] === '"') {
        let value = ''
        let from = at + 1
        for (;;) {
          const quote = text.indexOf('"', from)
          if (quote < 0) return null
          value += text.slice(from, quote)
          if (text[quote + 1] !== '"') {
            end = quote + 1
            break
          }
          value += '"'
          from = quote + 2
        }
        row.push(value)
      } else {
        end = fieldEnd(text, at)
        const value = text.slice(at, end)
        if (value.includes('"'))
          throw new CsvError(`row ${this.#rows + 1} has a quote within a field that is not quoted`)
        row.push(value === '' ? null : value)
      }
      const separator = text[end]
      if (separator === undefined) return null
      if (separator !== ',' && separator !== '\n') {
        throw new CsvError(`row ${this.#rows + 1} has text after the end of a quoted field`)
      }
      at = end + 1
      if (separator === '\n') {
        rows.push(this.#checked(row))
        return at
      }
    }
  }
}

function plainFields(line: string): CsvRow {
  const fields: CsvRow = line.split(',')
  for (let index = 0; index < fields.length; index++) if (fields[index] === '') fields[index] = null
  return fields
}

/** The end of a field that is not quoted: the next comma or line break, or the end of the text. */
function fieldEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === 0x2c || character === 0x0a) return at
  }
  return text.length
}
