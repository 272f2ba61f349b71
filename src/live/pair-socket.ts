import { createServer, type Server, type Socket } from 'node:net'
import { MAX_RECORD_SIZE } from '../records/record-framer.ts'

/** What both sides of a PAIR (version 0, protocol 16) connection send first. */
export const HANDSHAKE = Buffer.from([0x00, 0x53, 0x50, 0x00, 0x00, 0x10, 0x00, 0x00])

const HANDSHAKE_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 10_000
const LENGTH_BYTES = 8

/** Why a connection was closed by this side. */
export type ConnectionFault = 'second core' | 'broken handshake' | 'message too large' | 'refused message'

export type PairListener = {
  /** A core has dialled in and shaken hands. */
  onConnected(peer: string): void
  /**
   * One message. What is thrown closes the connection: the message is not one that may be taken.
   */
  onMessage(message: Buffer): void
  onDisconnected(peer: string, reason: string): void
  onFault(fault: ConnectionFault, message: string): void
}

/** The side of a PAIR connection that listens: one peer at a time. */
export type PairSocket = {
  port: number
  /** Stops and goes on reading from the peer: it waits, then, as TCP lets it. */
  pause(): void
  resume(): void
  close(): Promise<void>
}

/**
 * Listens for a core that dials in over the scalability protocol PAIR on TCP.
 *
 * @throws what listening fails with (EADDRINUSE, ...).
 */
export async function listenPair(host: string, port: number, listener: PairListener): Promise<PairSocket> {
  let current: Socket | null = null
  let paused = false

  const server = createServer((socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`
    socket.on('error', () => {})
    if (current !== null) {
      listener.onFault('second core', `${peer}: refused, another core is connected`)
      socket.destroy()
      return
    }
    current = socket
    if (paused) socket.pause()
    let reason = 'closed by the core'
    const refuse = (fault: ConnectionFault, message: string) => {
      reason = message
      listener.onFault(fault, `${peer}: ${message}`)
      socket.destroy()
    }
    receive(socket, {
      onHandshake: () => listener.onConnected(peer),
      onMessage: (message) => listener.onMessage(message),
      refuse,
    })
    socket.once('close', () => {
      current = null
      listener.onDisconnected(peer, reason)
    })
  })
  const address = await listen(server, host, port)
  return {
    port: address,
    pause: () => {
      paused = true
      current?.pause()
    },
    resume: () => {
      paused = false
      current?.resume()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        current?.destroy()
      }),
  }
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}

type Receiver = {
  onHandshake(): void
  onMessage(message: Buffer): void
  refuse(fault: ConnectionFault, message: string): void
}

/** Shakes hands and cuts what follows into messages: 8 bytes big-endian length, then the message. */
function receive(socket: Socket, { onHandshake, onMessage, refuse }: Receiver): void {
  let shaken = false
  let pending: Buffer[] = []
  let pendingBytes = 0
  let neededBytes = HANDSHAKE.length

  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => {
    if (!shaken) refuse('broken handshake', 'no handshake within 5 s')
  })
  socket.write(HANDSHAKE)
  socket.on('data', (chunk: Buffer) => {
    pending.push(chunk)
    pendingBytes += chunk.length
    if (pendingBytes < neededBytes) return
    let bytes = pending.length === 1 ? chunk : Buffer.concat(pending, pendingBytes)
    if (!shaken) {
      if (!bytes.subarray(0, HANDSHAKE.length).equals(HANDSHAKE)) {
        refuse('broken handshake', `not the handshake of PAIR version 0: ${bytes.toString('hex', 0, 8)}`)
        return
      }
      shaken = true
      socket.setTimeout(0)
      bytes = bytes.subarray(HANDSHAKE.length)
      onHandshake()
    }
    let at = 0
    neededBytes = LENGTH_BYTES
    while (at + LENGTH_BYTES <= bytes.length) {
      const length = bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
      if (length > MAX_RECORD_SIZE - LENGTH_BYTES) {
        refuse('message too large', `a message of ${length} bytes; at most 64 MiB are taken`)
        return
      }
      neededBytes = LENGTH_BYTES + length
      if (at + neededBytes > bytes.length) break
      try {
        onMessage(bytes.subarray(at + LENGTH_BYTES, at + neededBytes))
      } catch (error) {
        refuse('refused message', (error as Error).message)
        return
      }
      at += neededBytes
      neededBytes = LENGTH_BYTES
    }
    pending = at === bytes.length ? [] : [bytes.subarray(at)]
    pendingBytes = bytes.length - at
  })
}
