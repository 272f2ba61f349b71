import type { Client } from 'pg'
import { connect, type SessionConfig } from './connection.ts'
import { isConnectionLost, isLimitReached } from './errors.ts'

/** The connections of a reader: shared by many reads, or used by one alone. */
export type ReaderConnections = {
  /** Runs `read`, of which each statement is its own snapshot, on the first connection that keeps up. */
  ask<T>(read: (client: Client) => Promise<T>): Promise<T>
  /** Runs `read` on a connection that nobody else uses meanwhile. */
  askAlone<T>(read: (client: Client) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export type ReaderConnectionOptions = {
  /** Of connections on which statements are sent ahead (`pipeline`). */
  config: SessionConfig
  /** Maximum number of connections, and of shared ones among these. */
  most: number
  mostShared: number
  /** Called whenever the server has refused a further connection because it has too many. */
  onLimit: (open: number) => void
}

/** A connection, and the starts of its unanswered reads. */
type ReadConnection = {
  opened: Promise<Client>
  began: number[]
  isTaken: boolean
  /** Called once the reads begun before it was taken are done; null if nobody waits. */
  onDrained: (() => void) | null
  /** Closes it if it is idle for long. */
  idle: NodeJS.Timeout | null
}

/** Chooses a connection for a read, or opens one; null if the read must wait. */
type Choose = (now: number) => ReadConnection | null

/** A read that waits for a connection. */
type WaitingRead = { give(connection: ReadConnection): void; fail(error: Error): void }

/**
 * A connection is skipped while one of its reads has waited this long. As long as none has, a single connection does
 * all the work: one busy server process answers half as many pages again as four that are woken for each.
 */
const LATE_MS = 10

/** How long no further connection is opened after the server had too many. */
const LIMIT_MS = 1_000

/** How long a read waits for a connection while no further one can be opened. */
const MAX_CONNECTION_WAIT_MS = 5_000

/** Connections beyond those that are shared are closed once they were idle for so long. */
const IDLE_MS = 10_000

/**
 * Makes connections as they are needed, which stay open until they are lost. If the server has too many, the open
 * ones do all the work. Waiting reads are served in order of arrival; before, each had its turn among other
 * addresses.
 */
export function createReaderConnections(options: ReaderConnectionOptions): ReaderConnections {
  const { config, most, mostShared, onLimit } = options
  const open = new Set<ReadConnection>()
  /** Reads that wait for a connection of their own, and for a shared one, in order of arrival. */
  const queues = new Map<Choose, Set<WaitingRead>>([take, share].map((choose) => [choose, new Set()]))
  let limitedUntil = 0
  let isClosed = false

  /** Gives connections to the first reads that wait. */
  function beginNext(): void {
    for (const [choose, queue] of queues) {
      for (const { give } of queue) {
        const found = isClosed ? null : choose(performance.now())
        if (found === null) break
        give(found)
      }
    }
  }

  function remove(connection: ReadConnection): void {
    open.delete(connection)
    beginNext()
  }

  const mayAdd = (now: number) => open.size < most && now >= limitedUntil

  function add(): ReadConnection {
    const added: ReadConnection = {
      opened: connect(config),
      began: [],
      isTaken: false,
      onDrained: null,
      idle: null,
    }
    open.add(added)
    // The caller is told of the fault.
    added.opened.then(
      (client) => client.once('end', () => remove(added)),
      () => remove(added),
    )
    return added
  }

  /** The first connection that keeps up, otherwise a new one, or beyond the maximum the one with the fewest reads. */
  function share(now: number): ReadConnection | null {
    let leastBusy: ReadConnection | null = null
    let shared = 0
    for (const connection of open) {
      if (connection.isTaken) continue
      shared++
      const [oldest] = connection.began
      if (oldest === undefined || now - oldest < LATE_MS) return connection
      if (leastBusy === null || connection.began.length < leastBusy.began.length) leastBusy = connection
    }
    return (leastBusy === null || shared < mostShared) && mayAdd(now) ? add() : leastBusy
  }

  /** An idle connection, otherwise a new one, or beyond the maximum the one with the fewest reads, once these are done. */
  function take(now: number): ReadConnection | null {
    const free = [...open].filter(({ isTaken }) => !isTaken)
    if (open.size - free.length >= most - mostShared) return null
    const [leastBusy] = free.sort((a, b) => a.began.length - b.began.length)
    // One connection is left for shared reads.
    const isSpare = free.length > 1 || open.size === 1 || mayAdd(now)
    const isIdle = leastBusy?.began.length === 0
    const taken = isIdle && isSpare ? leastBusy : mayAdd(now) ? add() : isSpare ? leastBusy : undefined
    if (taken === undefined) return null
    taken.isTaken = true
    return taken
  }

  /**
   * A connection on which the read counts as begun, once it is its turn.
   *
   * @throws if there is none in time, or the reader is closed: a connection opened then would keep the process alive.
   */
  async function find(choose: Choose): Promise<{ connection: ReadConnection; began: number }> {
    if (isClosed) throw new Error('the reader is closed')
    const queue = queues.get(choose)!
    const { promise, resolve, reject } = Promise.withResolvers<{
      connection: ReadConnection
      began: number
    }>()
    const waiting: WaitingRead = {
      give: (connection) => {
        queue.delete(waiting)
        const began = performance.now()
        connection.began.push(began)
        resolve({ connection, began })
      },
      fail: reject,
    }
    queue.add(waiting)
    beginNext()
    if (!queue.has(waiting)) return promise
    // The server does not announce that it has room again.
    const again = setInterval(beginNext, LIMIT_MS)
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

  /** Runs `work` on a connection; on an open one if the server refuses a new one. */
  async function run<T>(
    choose: Choose,
    work: (client: Client, connection: ReadConnection) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const { connection, began } = await find(choose)
      let client: Client | null = null
      try {
        client = await connection.opened
        return await work(client, connection)
      } catch (error) {
        if (client === null && isLimitReached(error)) {
          limitedUntil = performance.now() + LIMIT_MS
          remove(connection)
          onLimit(open.size)
          if (open.size > 0) continue
        }
        if (isConnectionLost(error)) remove(connection)
        throw error
      } finally {
        connection.began.splice(connection.began.indexOf(began), 1)
        if (connection.began.length <= 1) connection.onDrained?.()
        beginNext()
      }
    }
  }

  /** Resolves once the reads are done that were begun before a connection was taken. */
  async function drained(connection: ReadConnection): Promise<void> {
    if (connection.began.length <= 1) return
    await new Promise<void>((resolve) => {
      connection.onDrained = resolve
    })
    connection.onDrained = null
  }

  /** Closes a connection that has been idle for a while. */
  function closeIdle(connection: ReadConnection, client: Client): void {
    connection.idle ??= setTimeout(() => {
      if (connection.isTaken || connection.began.length > 0 || open.size <= mostShared) return
      open.delete(connection)
      void client.end().catch(() => {})
    }, IDLE_MS).unref()
    connection.idle.refresh()
  }

  return {
    ask: (read) => run(share, read),

    askAlone: (read) =>
      run(take, async (client, connection) => {
        try {
          await drained(connection)
          const result = await read(client)
          closeIdle(connection, client)
          return result
        } catch (error) {
          // Closing the connection ends a transaction that the error left open.
          open.delete(connection)
          void client.end().catch(() => {})
          throw error
        } finally {
          connection.isTaken = false
          beginNext()
        }
      }),

    close: async () => {
      isClosed = true
      for (const queue of queues.values())
        for (const { fail } of queue) fail(new Error('the reader is closed'))
      const all = [...open]
      open.clear()
      await Promise.all(all.map(({ opened }) => opened.then((client) => client.end()).catch(() => {})))
    },
  }
}
