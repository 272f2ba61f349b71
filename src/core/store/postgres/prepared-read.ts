import { type Connection, Query, types } from 'pg'
import type { Row } from '../../resources/resource.ts'

/**
 * The driver's calls for sending a prepared statement; its types omit them, or require more. These, `prepare` and the
 * `handle...` methods of a query are private parts of the driver, which any release may change: package.json pins the
 * exact version, and test/prepared-read.test.ts and test/copy-rows.test.ts test the next one.
 */
type Sending = {
  bind(portal: { statement: string; values: readonly (string | null)[] }): void
  execute(portal: object): void
  sync(): void
}

/** The driver's method that sends a prepared statement: parsed, if it has not been, and described. */
const { prepare } = Query.prototype as unknown as { prepare(this: Query, connection: Connection): void }

/** Parses a value from the server's text. */
type ReadText = (text: string) => Row[number]

/** Parsers of statements' columns, by statement name; they never change on one connection. */
const columnsByConnection = new WeakMap<Connection, Map<string, readonly ReadText[]>>()

function columnsOn(connection: Connection): Map<string, readonly ReadText[]> {
  let known = columnsByConnection.get(connection)
  if (known === undefined) {
    known = new Map()
    columnsByConnection.set(connection, known)
  }
  return known
}

/**
 * A prepared statement that gives rows as arrays of their columns. Its columns are described once a connection; the
 * driver's own statement has them described each time.
 */
export class PreparedRead extends Query {
  declare readonly name: string
  declare readonly values: readonly (string | null)[]
  /** The parsers of the connection on which it is sent. */
  #known: Map<string, readonly ReadText[]> | null = null
  #columns: readonly ReadText[] | undefined
  #rows: Row[] = []

  /** @param done gets the fault, or the rows. */
  constructor(
    statement: { name: string; text: string; values: (string | null)[] },
    done: (error: Error | null, rows: Row[]) => void,
  ) {
    super(statement, (error) => {
      // The collector of young objects reaches a query that is done with through other objects of the driver, and would
      // keep the rows until the whole heap is collected.
      const rows = this.#rows
      this.#rows = []
      done(error ?? null, rows)
    })
  }

  /** Called by the driver to send the statement, all parts at once. */
  prepare(connection: Connection & Sending): void {
    this.#known = columnsOn(connection)
    this.#columns = this.#known.get(this.name)
    if (this.#columns === undefined) {
      prepare.call(this, connection)
      return
    }
    connection.bind({ statement: this.name, values: this.values })
    connection.execute({})
    connection.sync()
  }

  handleRowDescription({ fields }: { fields: readonly { dataTypeID: number }[] }): void {
    this.#columns = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text'))
    this.#known!.set(this.name, this.#columns)
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const columns = this.#columns!
    const row: (string | number | null)[] = fields
    for (let at = 0; at < fields.length; at++) {
      const text = fields[at]!
      if (text !== null) row[at] = columns[at]!(text)
    }
    this.#rows.push(row)
  }

  /** The number of rows is not needed. */
  handleCommandComplete(): void {}
}
