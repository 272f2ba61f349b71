import { type Connection, Query, types } from 'pg'
import type { Row } from '../../resources/resource.ts'

/** What the driver's connection has for prepared statements; its types leave it out, or ask for more. */
type PreparingConnection = Connection & {
  parse(statement: { name: string; text: string }): void
  bind(portal: { statement: string; values: readonly (string | null)[] }): void
  describe(portal: { type: 'P' }): void
  execute(portal: object): void
  /** By name, those that are sent and that the server has not yet taken. */
  submittedNamedStatements: Record<string, string>
}

/** Makes a value of the text that the server sends for it. */
type ReadText = (text: string) => Row[number]

/** How the columns of statements are read, by their names: on one connection they stay as they are. */
const knownColumns = new WeakMap<Connection, Map<string, readonly ReadText[]>>()

/**
 * A prepared statement that gives rows as arrays of their columns. Its columns are described once a connection; the
 * driver's own statement has them described each time.
 */
export class PreparedRead extends Query {
  declare readonly name: string
  declare readonly text: string
  declare readonly values: readonly (string | null)[]
  /** Whether the statement has been sent on a connection. */
  declare readonly hasBeenParsed: (connection: Connection) => boolean
  #known: Map<string, readonly ReadText[]> | undefined
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
  prepare(connection: PreparingConnection): void {
    const { name, text, values } = this
    this.#known = knownColumns.get(connection)
    if (this.#known === undefined) {
      this.#known = new Map()
      knownColumns.set(connection, this.#known)
    }
    this.#columns = this.#known.get(name)
    if (!this.hasBeenParsed(connection)) {
      connection.parse({ name, text })
      connection.submittedNamedStatements[name] = text
    }
    connection.bind({ statement: name, values })
    if (this.#columns === undefined) connection.describe({ type: 'P' })
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

  /** How many rows it were is not asked for. */
  handleCommandComplete(): void {}
}
