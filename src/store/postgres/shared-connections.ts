import type { Client, ClientConfig } from 'pg'
import { connect } from './connection.ts'
import { isConnectionLost } from './errors.ts'

/** A few connections that many share at a time: each statement is sent at once, and answered after those before it. */
export type SharedConnections = {
  /** Runs `read`, of which each statement is a snapshot by itself, on the first connection that keeps up. */
  ask<T>(read: (client: Client) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A connection, and when the reads on it have begun that are not answered yet. */
type Shared = { opened: Promise<Client>; began: number[] }

/**
 * A connection is passed over while it has a read that has waited for so long. As long as none has, one of them does all:
 * a process of the server that always has something to do gives half as many pages again as four that are woken for each.
 */
const LATE_MS = 10

/**
 * Makes connections as they are needed, which stay open until they are lost.
 *
 * @param config of connections on which statements are sent ahead (`pipeline`)
 * @param most how many connections there may be
 */
export function createSharedConnections(config: ClientConfig, most: number): SharedConnections {
  const open = new Set<Shared>()
  let isClosed = false

  function add(): Shared {
    const opened = connect(config)
    const added: Shared = { opened, began: [] }
    open.add(added)
    const remove = () => open.delete(added)
    // Whoever asks is told of the fault.
    opened.then((client) => client.once('end', remove), remove)
    return added
  }

  /** The first one that keeps up, or else a further one; where there are enough, the one with the fewest reads. */
  function choose(now: number): Shared {
    let leastBusy: Shared | null = null
    for (const shared of open) {
      const [oldest] = shared.began
      if (oldest === undefined || now - oldest < LATE_MS) return shared
      if (leastBusy === null || shared.began.length < leastBusy.began.length) leastBusy = shared
    }
    return leastBusy === null || open.size < most ? add() : leastBusy
  }

  return {
    ask: async (read) => {
      // A connection that is opened now would stay, and keep the process from ending.
      if (isClosed) throw new Error('the reader is closed')
      const now = performance.now()
      const shared = choose(now)
      shared.began.push(now)
      try {
        return await read(await shared.opened)
      } catch (error) {
        if (isConnectionLost(error)) open.delete(shared)
        throw error
      } finally {
        shared.began.splice(shared.began.indexOf(now), 1)
      }
    },

    close: async () => {
      isClosed = true
      const all = [...open]
      open.clear()
      await Promise.all(all.map(({ opened }) => opened.then((client) => client.end()).catch(() => {})))
    },
  }
}
