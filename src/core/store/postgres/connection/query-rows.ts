import type { Client } from 'pg'
import type { Cell } from '../../../model/columns.ts'
import type { Row } from '../../../model/resource.ts'
import { loadedDriver } from './driver.ts'

/** Anything that can run statements. */
export type Queryable = Pick<Client, 'query'>

/** The names of prepared statements, by their text. */
const statementNames = new Map<string, string>()

/**
 * The rows of a statement, each as an array of its columns. The statement is prepared once for each connection, by its
 * text.
 *
 * @throws {AnswerTooLongError} if the answer has more than `maxBytes`; the connection is then closed.
 */
export async function queryRows(
  client: Queryable,
  text: string,
  values: readonly Cell[] = [],
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Row[]> {
  let name = statementNames.get(text)
  if (name === undefined) {
    name = `lyra_${statementNames.size}`
    statementNames.set(text, name)
  }
  const { PreparedRead } = loadedDriver()
  return new Promise((resolve, reject) => {
    const statement = { name, text, values: values.map(encode), maxBytes }
    client.query(new PreparedRead(statement, (error, rows) => (error ? reject(error) : resolve(rows))))
  })
}

/** As {@link queryRows}, for a rare statement, which is not prepared. */
export async function rowsOnce(client: Queryable, text: string, values: readonly Cell[]): Promise<Row[]> {
  const { rows } = await client.query({ text, values: values.map(encode), rowMode: 'array' })
  return rows
}

function encode(value: Cell): string | null {
  return value === null ? null : String(value)
}
