import type { Connection } from 'pg'
import { isDigits } from '../../../domain/compare-numbers.ts'
import type { Cell } from '../../../model/columns.ts'
import type { TableRow } from '../../../model/table.ts'
import type { Table } from '../../schema/tables.ts'
import { loadedDriver } from '../connection/driver.ts'
import type { Queryable } from '../connection/query-rows.ts'

/** Private parts of the driver's connection for `copy`, as in connection/prepared-read.ts; its types omit them. */
type CopyConnection = Connection & {
  sendCopyFromChunk: (chunk: Buffer) => void
  endCopyFrom: () => void
}

/**
 * Inserts rows with `copy`, which takes the server less time than an insert. None may be stored already.
 *
 * The statement and its rows are sent at once, as everything on a connection. pg-copy-streams would wait for the server in
 * between, and the driver refuses it if statements are sent ahead. If the server refuses the statement, it skips the rows.
 */
export async function copyRows(
  client: Queryable,
  { name, columns }: Table,
  rows: readonly TableRow[],
): Promise<void> {
  const { Query } = loadedDriver()
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

/** Rows in the text format of `copy`, as bytes. Joining texts would create as many objects as the rows have cells. */
function copyText(columns: Table['columns'], rows: readonly TableRow[]): Buffer {
  let bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  let length = 0
  const last: Cell[] = []
  const texts: string[] = []
  for (const row of rows) {
    for (let at = 0; at < columns.length; at++) {
      const cell = row[columns[at]!.name]!
      // Markets, periods and blocks are mostly the same as in the previous row.
      if (cell !== last[at]) {
        last[at] = cell
        texts[at] = cellText(cell)
      }
      const text = texts[at]!
      // And one byte for the end of the cell.
      const most = length + CHARACTER_BYTES * text.length + 1
      if (most > bytes.length) {
        const grown = Buffer.allocUnsafeSlow(2 * most)
        bytes.copy(grown, 0, 0, length)
        bytes = grown
      }
      length = writeText(bytes, length, text)
      bytes[length++] = at + 1 < columns.length ? TAB : NEWLINE
    }
  }
  return bytes.subarray(0, length)
}

/** Writes a text (fast for ASCII); returns the offset of its end. */
function writeText(bytes: Buffer, start: number, text: string): number {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x80) return start + bytes.write(text, start)
    bytes[start + at] = code
  }
  return start + text.length
}

const TAB = 0x09
const NEWLINE = 0x0a

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

/** A cell in the text format of `copy`. */
function cellText(cell: Cell): string {
  if (cell === null) return '\\N'
  if (typeof cell !== 'string') return String(cell)
  // Most copied cells are numbers.
  return isDigits(cell) ? cell : cell.replaceAll(/[\\\t\n\r]/g, (char) => ESCAPES[char]!)
}

const FIRST_BYTES = 64 * 1024

/** Maximum bytes in UTF-8 of a character, as JavaScript counts characters. */
const CHARACTER_BYTES = 3
