import { once } from 'node:events'
import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import type { Connections } from '../clients/connections.ts'

/** How long the first request of a connection may be on its way once the server stops, milliseconds. */
const FIRST_REQUEST_MS = 1_000

/** How often a stopping server looks for connections on which everything has been answered, milliseconds. */
const CHECK_MS = 50

/** Stops one server: closes each of its connections once everything on it has been answered. */
export class ServerStop {
  readonly #server: Server
  readonly #connections: Pick<Connections, 'isAnswering' | 'hasRequests'>
  readonly #open = new Set<Socket>()

  constructor(server: Server, connections: Pick<Connections, 'isAnswering' | 'hasRequests'>) {
    this.#server = server
    this.#connections = connections
    server.on('connection', (socket) => {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
    })
  }

  /** Accepts no more connections, and resolves once all are closed. Sets no limit to the time that answers take. */
  async stop(): Promise<void> {
    const stoppedAt = performance.now()
    const closed = once(this.#server, 'close')
    // That of an HTTP server would cut off answers that are written, but not sent yet.
    NetServer.prototype.close.call(this.#server)
    this.#closeAnswered(stoppedAt)
    const timer = setInterval(() => this.#closeAnswered(stoppedAt), CHECK_MS)
    await closed
    clearInterval(timer)
    // Ends its checks of time limits.
    this.#server.close()
  }

  #closeAnswered(stoppedAt: number): void {
    const awaitsFirst = performance.now() - stoppedAt < FIRST_REQUEST_MS
    for (const socket of this.#open) {
      if (this.#connections.isAnswering(socket)) continue
      if (awaitsFirst && !this.#connections.hasRequests(socket)) continue
      socket.destroy()
    }
  }
}
