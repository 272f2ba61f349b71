import type { ServerHttp2Stream } from 'node:http2'
import { setImmediate as nextRound } from 'node:timers/promises'
import { messageTooLarge, protocolError } from '../http/errors.ts'
import { PREFIX_BYTES, writePrefix } from '../protos/prefix.ts'

/* A message has a prefix (protos/prefix.ts). It arrives in any number of frames of HTTP/2. */

/** Upper bound of a request: a market, a party, a cursor and a few numbers. */
const MAX_REQUEST_BYTES = 16 * 1024

/** Frames of a request at most: clients send one or two. */
const MAX_FRAMES = 64

/** Ends the connection: thousands more frames may follow, each of which costs time even after the call has been answered. */
export const TOO_MANY_FRAMES = protocolError(`the request is in more than ${MAX_FRAMES} frames`)

/** A message with its prefix, as it is sent over HTTP/2. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  writePrefix(frame)
  frame.set(message, PREFIX_BYTES)
  return frame
}

/** The messages of a call, from the frames in which they arrive. */
class Messages {
  #frames: Buffer[] = []
  #bytes = 0
  /** Bytes of the first message and its prefix; null until the prefix has arrived. */
  #needed: number | null = null

  /** Bytes that have arrived and have not been taken. */
  get bytes(): number {
    return this.#bytes
  }

  /** @throws {ApiError} for a message that is compressed, too large, or in too many frames. */
  add(frame: Buffer): void {
    this.#frames.push(frame)
    this.#bytes += frame.length
    if (this.#frames.length > MAX_FRAMES) throw TOO_MANY_FRAMES
    this.#readPrefix()
  }

  /** Takes the first message; null while it is incomplete. */
  take(): Buffer | null {
    const needed = this.#needed
    if (needed === null || this.#bytes < needed) return null
    const bytes = this.#joined()
    const rest = bytes.subarray(needed)
    this.#frames = [rest]
    this.#bytes = rest.length
    this.#needed = null
    this.#readPrefix()
    return bytes.subarray(PREFIX_BYTES, needed)
  }

  #readPrefix(): void {
    if (this.#needed !== null || this.#bytes < PREFIX_BYTES) return
    const bytes = this.#joined()
    if (bytes[0] !== 0) throw protocolError('the message is compressed, and grpc-encoding is not set')
    const length = bytes.readUInt32BE(1)
    if (length > MAX_REQUEST_BYTES) throw messageTooLarge(length, MAX_REQUEST_BYTES)
    this.#needed = PREFIX_BYTES + length
  }

  #joined(): Buffer {
    return this.#frames.length === 1 ? this.#frames[0]! : Buffer.concat(this.#frames)
  }
}

/** Resolves with the only request of a call, once it has arrived whole. @throws {ApiError} for anything else. */
export function readRequest(stream: ServerHttp2Stream): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const messages = new Messages()
    let request: Buffer | null = null
    stream.on('data', (frame: Buffer) => {
      try {
        messages.add(frame)
        request ??= messages.take()
        // Data after the request is refused before it is stored.
        if (request !== null && messages.bytes > 0) throw protocolError('the call has more than one request')
      } catch (error) {
        stream.removeAllListeners('data').resume()
        reject(error)
      }
    })
    stream.once('end', () => {
      if (request === null) reject(protocolError('the call has no whole request'))
      else resolve(request)
    })
  })
}

/**
 * The requests of a call, each in its own round of the event loop. Reads on only when the next one is taken.
 *
 * @throws {ApiError} for anything else.
 */
export async function* readRequests(stream: ServerHttp2Stream): AsyncGenerator<Buffer, void> {
  const messages = new Messages()
  for await (const frame of stream.iterator({ destroyOnReturn: false })) {
    messages.add(frame)
    for (let request = messages.take(); request !== null; request = messages.take()) {
      yield request
      await nextRound()
    }
  }
}
