import { type Connection, Query, types } from 'pg'
import type { Row } from '../../../model/resource.ts'

/**
 * The driver's functions for sending a prepared statement, which its types omit or describe otherwise. These, `prepare` and the
 * `handle...` methods of a query are private parts of the driver, which any release may change. Therefore package.json pins the
 * exact version, and test/store/postgres/prepared-read.test.ts and test/store/postgres/copy-rows.test.ts test the next one.
 */
type Sending = {
  bind(portal: { statement: string; values: readonly (string | null)[] }): void
  execute(portal: object): void
  sync(): void
}

/** The driver's method that sends a prepared statement: it is parsed if necessary, and described. */
const { prepare } = Query.prototype as unknown as { prepare(this: Query, connection: Connection): void }

/** Parses a value from the server's text. */
type ReadText = (text: string) => Row[number]

/** The parsers of each statement's columns, by the statement's name. They never change on one connection. */
const columnsByConnection = new WeakMap<Connection, Map<string, readonly ReadText[]>>()

function columnsOn(connection: Connection): Map<string, readonly ReadText[]> {
  let columns = columnsByConnection.get(connection)
  if (columns === undefined) {
    columns = new Map()
    columnsByConnection.set(connection, columns)
  }
  return columns
}

/** The answer to a statement has more than the maximum number of bytes; its connection is closed. */
export class AnswerTooLongError extends Error {
  override name = 'AnswerTooLongError'

  constructor(maxBytes: number) {
    super(`the answer of a statement has more than ${maxBytes} bytes`)
  }
}

/** The statements that wait on a connection, in the order of their answers, and the bytes received for the first one. */
type Answering = { waiting: Set<PreparedRead>; bytes: number }

const answeringByConnection = new WeakMap<Connection, Answering>()

/**
 * Counts the bytes that arrive, because the driver collects a whole row, however long, before anyone sees it. If bytes
 * complete one answer they count for the next one too, but these are few.
 */
function answeringOn(connection: Connection): Answering {
  const existing = answeringByConnection.get(connection)
  if (existing !== undefined) return existing
  const answering: Answering = { waiting: new Set(), bytes: 0 }
  answeringByConnection.set(connection, answering)
  connection.stream.on('data', ({ length }: Buffer) => {
    answering.bytes += length
    const [answered] = answering.waiting
    if (answered === undefined || answering.bytes <= answered.maxBytes || answered.isTooLong) return
    answered.isTooLong = true
    // For the other waiting statements, the connection was cut.
    connection.stream.destroy(new Error('connection terminated: the answer of a statement was too long'))
  })
  return answering
}

/**
 * A prepared statement that returns rows as arrays of their columns. Its columns are described once for each connection,
 * those of the driver's own statement each time.
 */
export class PreparedRead extends Query {
  declare readonly name: string
  declare readonly values: readonly (string | null)[]
  /** Maximum number of bytes of its answer. */
  readonly maxBytes: number
  isTooLong = false
  /** The parsers of the connection on which it is sent, by the names of statements. */
  #columnsByName: Map<string, readonly ReadText[]> | null = null
  #columns: readonly ReadText[] | undefined
  #rows: Row[] = []
  #answering: Answering | null = null

  /** @param done receives the error ({@link AnswerTooLongError} for an answer of more than `maxBytes`) or the rows. */
  constructor(
    statement: { name: string; text: string; values: (string | null)[]; maxBytes: number },
    done: (error: Error | null, rows: Row[]) => void,
  ) {
    super(statement, (error) => {
      // V8's collector of young objects reaches a finished query through other objects of the driver, and would keep the
      // rows until the whole heap is collected.
      const rows = this.#rows
      this.#rows = []
      this.#leave()
      done(this.isTooLong ? new AnswerTooLongError(this.maxBytes) : (error ?? null), rows)
    })
    this.maxBytes = statement.maxBytes
  }

  /** Sends the statement, all parts at once; called by the driver. */
  prepare(connection: Connection & Sending): void {
    this.#answering = answeringOn(connection)
    this.#answering.waiting.add(this)
    this.#columnsByName = columnsOn(connection)
    this.#columns = this.#columnsByName.get(this.name)
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
    this.#columnsByName!.set(this.name, this.#columns)
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

  /** The command's tag is not needed. */
  handleCommandComplete(): void {}
}
