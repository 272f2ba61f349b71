import { type Connection, Query, types } from 'pg'
import type { Row } from '../../model/resource.ts'

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

/** The answer of a statement had more bytes than it may have; its connection is closed. */
export class AnswerTooLongError extends Error {
  override name = 'AnswerTooLongError'

  constructor(maxBytes: number) {
    super(`the answer of a statement has more than ${maxBytes} bytes`)
  }
}

/** What a connection answers: the statements that wait, in the order of their answers, and the bytes of the first answer. */
type Answering = { waiting: Set<PreparedRead>; bytes: number }

const answeringByConnection = new WeakMap<Connection, Answering>()

/**
 * Watches the bytes that arrive, since the driver collects a row, however long, before anyone sees it. Bytes that complete
 * one answer count for the next one, too: not many.
 */
function answeringOn(connection: Connection): Answering {
  const found = answeringByConnection.get(connection)
  if (found !== undefined) return found
  const answering: Answering = { waiting: new Set(), bytes: 0 }
  answeringByConnection.set(connection, answering)
  connection.stream.on('data', ({ length }: Buffer) => {
    answering.bytes += length
    const [answered] = answering.waiting
    if (answered === undefined || answering.bytes <= answered.maxBytes || answered.isTooLong) return
    answered.isTooLong = true
    // To the other statements that wait, the connection was cut.
    connection.stream.destroy(new Error('connection terminated: the answer of a statement was too long'))
  })
  return answering
}

/**
 * A prepared statement that gives rows as arrays of their columns. Its columns are described once a connection; the
 * driver's own statement has them described each time.
 */
export class PreparedRead extends Query {
  declare readonly name: string
  declare readonly values: readonly (string | null)[]
  /** The most bytes that its answer may have. */
  readonly maxBytes: number
  isTooLong = false
  /** The parsers of the connection on which it is sent. */
  #known: Map<string, readonly ReadText[]> | null = null
  #columns: readonly ReadText[] | undefined
  #rows: Row[] = []
  #answering: Answering | null = null

  /** @param done gets the fault, {@link AnswerTooLongError} for an answer of more than `maxBytes`, or the rows. */
  constructor(
    statement: { name: string; text: string; values: (string | null)[]; maxBytes: number },
    done: (error: Error | null, rows: Row[]) => void,
  ) {
    super(statement, (error) => {
      // The collector of young objects reaches a query that is done with through other objects of the driver, and would
      // keep the rows until the whole heap is collected.
      const rows = this.#rows
      this.#rows = []
      this.#leave()
      done(this.isTooLong ? new AnswerTooLongError(this.maxBytes) : (error ?? null), rows)
    })
    this.maxBytes = statement.maxBytes
  }

  /** Called by the driver to send the statement, all parts at once. */
  prepare(connection: Connection & Sending): void {
    this.#answering = answeringOn(connection)
    this.#answering.waiting.add(this)
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

  #leave(): void {
    if (this.#answering?.waiting.delete(this)) this.#answering.bytes = 0
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
