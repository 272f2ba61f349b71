import type { Client } from 'pg'
import { explainPostgresError } from '#core/store/postgres/errors'
import { ImportError } from '../import-error.ts'

/** A row with all columns as text. */
export type Texts = (string | null)[]

/**
 * Runs statements in a database of the reference, one after another over one connection, with clear errors. Each method except
 * `close` rejects with an {@link ImportError} if the user may not read, with a StoreError (core/store/errors.ts) if the
 * database is unreachable, and with the signal's reason once the signal is aborted.
 */
export class ReferenceDatabase {
  /** Its name for people. */
  readonly name: string
  readonly #newClient: () => Client
  readonly #signal: AbortSignal | undefined
  readonly #client: Client
  /** The server's process that runs the statements; null before it is known. */
  #backend: string | null = null
  #cursors = 0
  /** Number of statements without an answer. */
  #running = 0
  /**
   * The last statement. Each waits for the one before it, because cursors are read at the same time, and the driver warns
   * if queries wait in it.
   */
  #last: Promise<unknown> = Promise.resolve()

  /**
   * @param newClient creates a client that is not connected yet
   * @param signal ends waiting for rows
   */
  constructor(name: string, newClient: () => Client, signal: AbortSignal | undefined) {
    this.name = name
    this.#newClient = newClient
    this.#signal = signal
    this.#client = newClient()
  }

  /** Connects. Must be called once, before any other method except {@link close}. */
  async open(): Promise<void> {
    await this.#run(() => this.#client.connect())
    const [row] = await this.rows('select pg_backend_pid()::text')
    this.#backend = row![0]!
  }

  /**
   * Closes the connection, in any state, and never rejects. It also cancels the running statement, which the server would
   * otherwise finish for nothing.
   */
  async close(): Promise<void> {
    if (this.#running > 0 && this.#backend !== null) await this.#cancel().catch(() => {})
    await this.#client.end().catch(() => {})
  }

  /** The rows of a statement. It does not wait for them after the signal is aborted. */
  rows(text: string): Promise<Texts[]> {
    const query = () => this.#client.query<Texts>({ text, rowMode: 'array' })
    const result = this.#last.then(() => this.#run(query))
    this.#last = result.catch(() => {})
    return this.#unlessAborted(result.then(({ rows }) => rows))
  }

  /**
   * The rows of a query of a table, read with a cursor in chunks; the next chunk is fetched while the caller uses one. Must
   * be called within a transaction.
   *
   * @param size the number of rows in a chunk
   *
   * @throws {ImportError} also for a table that was emptied, or has lost a chunk, since the snapshot of the transaction.
   */
  async *readByCursor(table: string, text: string, size: number): AsyncGenerator<Texts[], void, undefined> {
    const cursor = `lyra_${++this.#cursors}`
    await this.rows(`declare ${cursor} no scroll cursor for ${text}`)
    await this.#refuseEmptied(table)
    const fetch = () => {
      const fetched = this.rows(`fetch forward ${size} from ${cursor}`)
      fetched.catch(() => {})
      return fetched
    }
    let next = fetch()
    for (;;) {
      const fetched = await next
      if (fetched.length === 0) break
      next = fetch()
      yield fetched
    }
    await this.rows(`close ${cursor}`)
  }

  /**
   * Refuses a table that was emptied, or has lost a chunk, since the snapshot: a snapshot protects against neither. Once a
   * cursor is declared, both must wait until it ends. The statement compares the table's files in the snapshot with the
   * present ones.
   *
   * @throws {ImportError} if they differ.
   */
  async #refuseEmptied(table: string): Promise<void> {
    const changed = await this.rows(
      `with recursive parts(oid) as (
         select to_regclass('${table}')::oid
         union select inhrelid from pg_inherits join parts on inhparent = parts.oid
       )
       select relname::text from parts join pg_class on pg_class.oid = parts.oid
       where relkind = 'r' and pg_class.relfilenode is distinct from pg_relation_filenode(pg_class.oid) limit 1`,
    )
    if (changed.length === 0) return
    throw new ImportError(
      `${this.name}: its table ${table} was emptied, rewritten, or has lost a part while it was imported (${changed[0]![0]}); import again, while the data node deletes nothing`,
    )
  }

  async #cancel(): Promise<void> {
    const client = this.#newClient()
    try {
      await client.connect()
      await client.query('select pg_cancel_backend($1)', [this.#backend])
    } finally {
      await client.end()
    }
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await work()
    } catch (error) {
      throw this.#explained(error)
    } finally {
      this.#running--
    }
  }

  async #unlessAborted<T>(work: Promise<T>): Promise<T> {
    const signal = this.#signal
    if (signal === undefined) return work
    work.catch(() => {})
    signal.throwIfAborted()
    const { promise, reject } = Promise.withResolvers<never>()
    const abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort)
    try {
      return await Promise.race([work, promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  #explained(error: unknown): unknown {
    const { code, message } = error as Error & { code?: string }
    if (code === '42501') {
      return new ImportError(
        `${this.name}: ${message}. Grant it to the user: grant usage on schema public, grant select on all tables in schema public`,
        { cause: error },
      )
    }
    return explainPostgresError(this.name, error)
  }
}
