import type { Client, ClientConfig } from 'pg'
import { connect } from './connection.ts'
import { isConnectionLost } from './errors.ts'

/** A few connections that many share at a time: each statement is sent at once, and answered after those before it. */
export type SharedConnections = {
  /** Runs `read`, of which each statement is a snapshot by itself, on the connection that has least to do. */
  ask<T>(read: (client: Client) => Promise<T>): Promise<T>
  close(): Promise<void>
}

type Shared = { opened: Promise<Client>; reads: number }

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
    const added = { opened, reads: 0 }
    open.add(added)
    const remove = () => open.delete(added)
    // Whoever asks is told of the fault.
    opened.then((client) => client.once('end', remove), remove)
    return added
  }

  function leastBusy(): Shared {
    let found: Shared | null = null
    for (const shared of open) if (found === null || shared.reads < found.reads) found = shared
    return found === null || (found.reads > 0 && open.size < most) ? add() : found
  }

  return {
    ask: async (read) => {
      // A connection that is opened now would stay, and keep the process from ending.
      if (isClosed) throw new Error('the reader is closed')
      const shared = leastBusy()
      shared.reads++
      try {
        return await read(await shared.opened)
      } catch (error) {
        if (isConnectionLost(error)) open.delete(shared)
        throw error
      } finally {
        shared.reads--
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
