import type { Connection } from 'pg'
import { isDigits } from '../../domain/compare-numbers.ts'
import type { Cell, TableRow } from '../../resources/table.ts'
import type { Table } from '../tables.ts'
import { openedDriver, type Queryable } from './connection.ts'

/** Private parts of the driver's connection for `copy`, as in prepared-read.ts; its types omit them. */
type CopyConnection = Connection & {
  sendCopyFromChunk: (chunk: Buffer) => void
  endCopyFrom: () => void
}

/**
 * Inserts rows by `copy`, for which the server takes less time than for an insert. None may be there already.
 *
 * The statement and its rows are sent at once, as all else on a connection: pg-copy-streams would wait for the server in
 * between, and the driver refuses it if statements are sent ahead. A server that refuses the statement skips
 * the rows.
 */
export async function copyRows(
  client: Queryable,
  { name, columns }: Table,
  rows: readonly TableRow[],
): Promise<void> {
  const { Query } = openedDriver()
  const text = `copy ${name} (${columns.map((column) => column.name).join(', ')}) from stdin`
  const data = copyText(columns, rows)
  await new Promise<void>((resolve, reject) => {
    const query = new Query(text, (error) => (error ? reject(error) : resolve()))
    const ofCopy = {
      submit(connection: Connection): void {
        const { stream } = connection
        stream.cork()
        connection.query(text)
        ;(connection as CopyConnection).sendCopyFromChunk(data)
        ;(connection as CopyConnection).endCopyFrom()
        stream.uncork()
      },
      handleCopyInResponse(): void {},
    }
    client.query(Object.assign(query, ofCopy))
  })
}

/** Rows in the text format of `copy`. */
function copyText(columns: Table['columns'], rows: readonly TableRow[]): Buffer {
  const writer = new TextBuffer()
  const last: Cell[] = []
  const texts: string[] = []
  for (const row of rows) {
    for (let at = 0; at < columns.length; at++) {
      const cell = row[columns[at]!.name]!
      // Markets, periods and blocks are mostly those of the previous row.
      if (cell !== last[at]) {
        last[at] = cell
        texts[at] = cellText(cell)
      }
      writer.add(texts[at]!)
      writer.end(at + 1 < columns.length ? TAB : NEWLINE)
    }
  }
  return writer.written
}

const TAB = 0x09
const NEWLINE = 0x0a

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

/** A cell as `copy` takes it. */
function cellText(cell: Cell): string {
  if (cell === null) return '\\N'
  if (typeof cell !== 'string') return String(cell)
  // Most copied cells are numbers.
  return isDigits(cell) ? cell : cell.replaceAll(/[\\\t\n\r]/g, (char) => ESCAPES[char]!)
}

const FIRST_BYTES = 64 * 1024

/** The most bytes of a character, counted as JavaScript does, in UTF-8. */
const CHARACTER_BYTES = 3

/** Gathers texts as bytes: joined as texts, thousands of rows would leave as many objects as they have cells. */
class TextBuffer {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0

  get written(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  add(text: string): void {
    // And one for the end.
    this.#reserve(CHARACTER_BYTES * text.length + 1)
    const bytes = this.#bytes
    const start = this.#length
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code >= 0x80) {
        this.#length = start + bytes.write(text, start)
        return
      }
      bytes[start + at] = code
    }
    this.#length = start + text.length
  }

  /** Ends a cell. */
  end(byte: number): void {
    this.#bytes[this.#length++] = byte
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(2 * this.#bytes.length + count)
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}
