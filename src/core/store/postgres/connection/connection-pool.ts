import type { Client } from 'pg'
import { isConnectionLost, isLimitReached } from '../errors.ts'
import { PooledConnection, type ReadInProgress } from './pooled-connection.ts'

type ConnectionPoolOptions = {
  /** Opens a connection on which statements can be sent before earlier ones are answered. */
  connect: () => Promise<Client>
  /** Maximum number of connections. */
  most: number
  /** Maximum number of shared connections. The others are for reads that need a connection of their own. */
  mostShared: number
  /** Called when the server has refused a connection because it has too many, with the number of open ones. */
  onLimit: (open: number) => void
}

/** A read that waits for a connection. */
type WaitingRead = { give(connection: PooledConnection): void; fail(error: Error): void }

/** A read that has begun on a connection. */
type BegunRead = { connection: PooledConnection; read: ReadInProgress }

/** Reads that wait, in order of arrival. */
type WaitingReads = Set<WaitingRead>

/** How long no connection is opened after the server had too many. */
const LIMIT_MS = 1_000

/** How long a read waits for a connection while no further one can be opened. */
const MAX_CONNECTION_WAIT_MS = 5_000

/**
 * The connections of one reader. They are opened as necessary, and stay open until they are lost. If the server has too
 * many, the open ones do all the work. Waiting reads get connections in order of arrival; fairness between client addresses
 * is ensured before, in the queue of the service.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions
  readonly #connections = new Set<PooledConnection>()
  readonly #waitingExclusive: WaitingReads = new Set()
  readonly #waitingShared: WaitingReads = new Set()
  /** No connection is opened before this time. */
  #limitedUntil = 0
  #isClosed = false

  constructor(options: ConnectionPoolOptions) {
    this.#options = options
  }

  /**
   * Runs a read on a connection that others share. Each of its statements is a snapshot of its own.
   *
   * @throws the error of connecting or of the read; SQLSTATE 53300 if no connection is free within 5 s.
   */
  shared<T>(read: (client: Client) => Promise<T>): Promise<T> {
    return this.#run(this.#waitingShared, (client) => read(client))
  }

  /**
   * Runs a read on a connection that nobody else uses meanwhile. After an error the connection is closed, which ends a
   * transaction that may be open.
   *
   * @throws as {@link ConnectionPool.shared}.
   */
  exclusive<T>(read: (client: Client) => Promise<T>): Promise<T> {
    return this.#run(this.#waitingExclusive, async (client, connection) => {
      try {
        await connection.drained()
        const result = await read(client)
        connection.whenIdle(() => this.#closeIfSpare(connection, client))
        return result
      } catch (error) {
        this.#connections.delete(connection)
        void client.end().catch(() => {})
        throw error
      }
    })
  }

  /** Rejects all reads from now on, also those that wait, and closes all connections. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { fail } of [...this.#waitingExclusive, ...this.#waitingShared]) fail(closedError())
    const all = [...this.#connections]
    this.#connections.clear()
    await Promise.all(all.map(({ opened }) => opened.then((client) => client.end()).catch(() => {})))
  }

  /** Runs `work` on a connection. If the server refuses a new one, it uses an open one. */
  async #run<T>(
    queue: WaitingReads,
    work: (client: Client, connection: PooledConnection) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const { connection, read } = await this.#begin(queue)
      let client: Client | null = null
      try {
        client = await connection.opened
        return await work(client, connection)
      } catch (error) {
        if (client === null && isLimitReached(error)) {
          this.#limitedUntil = performance.now() + LIMIT_MS
          this.#remove(connection)
          this.#options.onLimit(this.#connections.size)
          if (this.#connections.size > 0) continue
        }
        if (isConnectionLost(error)) this.#remove(connection)
        throw error
      } finally {
        if (queue === this.#waitingExclusive) connection.isExclusive = false
        connection.end(read)
        this.#serveWaiting()
      }
    }
  }

  /**
   * Waits for a connection and starts a read on it.
   *
   * @throws if no connection is free in time, or the pool is closed: a connection that is opened then would keep the
   *   process alive.
   */
  async #begin(queue: WaitingReads): Promise<BegunRead> {
    if (this.#isClosed) throw closedError()
    const { promise, resolve, reject } = Promise.withResolvers<BegunRead>()
    const waiting: WaitingRead = {
      give: (connection) => {
        queue.delete(waiting)
        resolve({ connection, read: connection.begin() })
      },
      fail: reject,
    }
    queue.add(waiting)
    this.#serveWaiting()
    if (!queue.has(waiting)) return promise
    // The server does not announce when it accepts connections again.
    const again = setInterval(() => this.#serveWaiting(), LIMIT_MS)
    const late = setTimeout(
      () => reject(Object.assign(new Error('no connection is free'), { code: '53300' })),
      MAX_CONNECTION_WAIT_MS,
    )
    return promise.finally(() => {
      clearInterval(again)
      clearTimeout(late)
      queue.delete(waiting)
    })
  }

  /** Gives connections to the first reads that wait. */
  #serveWaiting(): void {
    if (this.#isClosed) return
    for (const { give } of this.#waitingExclusive) {
      const connection = this.#takeExclusive()
      if (connection === null) break
      give(connection)
    }
    for (const { give } of this.#waitingShared) {
      const connection = this.#chooseShared()
      if (connection === null) break
      give(connection)
    }
  }

  /** The first connection without a late read, otherwise a new one; at the maximum, the one with the fewest reads. */
  #chooseShared(): PooledConnection | null {
    const now = performance.now()
    const shared = [...this.#connections].filter(({ isExclusive }) => !isExclusive)
    const keepsUp = shared.find((connection) => !connection.isLate(now))
    if (keepsUp !== undefined) return keepsUp
    if (shared.length < this.#options.mostShared && this.#mayOpen()) return this.#open()
    return leastBusyOf(shared)
  }

  /**
   * An idle connection, otherwise a new one; at the maximum, the one with the fewest reads, once these are done. One
   * connection always remains for shared reads. Null if the read must wait.
   */
  #takeExclusive(): PooledConnection | null {
    const chosen = this.#chooseExclusive()
    if (chosen !== null) chosen.isExclusive = true
    return chosen
  }

  #chooseExclusive(): PooledConnection | null {
    const { most, mostShared } = this.#options
    const shared = [...this.#connections].filter(({ isExclusive }) => !isExclusive)
    if (this.#connections.size - shared.length >= most - mostShared) return null
    const leastBusy = leastBusyOf(shared)
    const mayOpen = this.#mayOpen()
    // Whether shared reads can go on without one more connection.
    const isSpare = shared.length > 1 || this.#connections.size === 1 || mayOpen
    if (isSpare && leastBusy?.reads === 0) return leastBusy
    if (mayOpen) return this.#open()
    return isSpare ? leastBusy : null
  }

  #mayOpen(): boolean {
    return this.#connections.size < this.#options.most && performance.now() >= this.#limitedUntil
  }

  #open(): PooledConnection {
    const connection = new PooledConnection(this.#options.connect())
    this.#connections.add(connection)
    // The read for which it was opened gets the error.
    connection.opened.then(
      (client) => client.once('end', () => this.#remove(connection)),
      () => this.#remove(connection),
    )
    return connection
  }

  #remove(connection: PooledConnection): void {
    this.#connections.delete(connection)
    this.#serveWaiting()
  }

  /** Closes an idle connection, if more connections are open than are shared. */
  #closeIfSpare(connection: PooledConnection, client: Client): void {
    if (this.#connections.size <= this.#options.mostShared) return
    this.#connections.delete(connection)
    void client.end().catch(() => {})
  }
}

const closedError = () => new Error('the reader is closed')

/** The connection with the fewest unanswered reads; null if there is none. */
function leastBusyOf(connections: readonly PooledConnection[]): PooledConnection | null {
  let least: PooledConnection | null = null
  for (const connection of connections) {
    if (least === null || connection.reads < least.reads) least = connection
  }
  return least
}
