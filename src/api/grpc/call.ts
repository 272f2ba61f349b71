import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import type { Position } from '../../store/pages/page.ts'
import { type ApiError, messageTooLarge, protocolError } from '../http/errors.ts'

/** Upper bound of a request: a market, a party, a cursor and a few numbers. */
const MAX_REQUEST_BYTES = 16 * 1024

/** Before a message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5

/** A call while it is answered. */
export type Call = {
  stream: ServerHttp2Stream
  /** The address that it counts for. */
  address: string
  /** Metadata that is sent before the answer: names in lower case and values in turns, as Node writes them soonest. */
  metadata: string[]
}

/**
 * A method: `unary` gives the answer to its request, framed; `stream` sends answers itself, and the call ends once it
 * resolves. Both may throw an {@link ApiError}.
 */
export type Method =
  | { unary(call: Call, request: Buffer): Promise<Buffer> }
  | { stream(call: Call, send: (message: Buffer) => Promise<void>): Promise<void> }

/** A message as HTTP/2 carries it: its prefix before it. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  frame[0] = 0
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, PREFIX_BYTES)
  return frame
}

/** The first message of a buffer, and its end; null while it is incomplete. */
function firstMessage(bytes: Buffer): { message: Buffer; end: number } | null {
  if (bytes.length < PREFIX_BYTES) return null
  if (bytes[0] !== 0) throw protocolError('the message is compressed, and grpc-encoding is not set')
  const end = PREFIX_BYTES + bytes.readUInt32BE(1)
  if (end > PREFIX_BYTES + MAX_REQUEST_BYTES) throw messageTooLarge(end - PREFIX_BYTES, MAX_REQUEST_BYTES)
  return end > bytes.length ? null : { message: bytes.subarray(PREFIX_BYTES, end), end }
}

/** The request of a call that has one, once it has arrived whole. @throws {ApiError} for anything else. */
export function readRequest(stream: ServerHttp2Stream): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer | null = null
    stream.on('data', (chunk: Buffer) => {
      try {
        bytes = bytes === null ? chunk : Buffer.concat([bytes, chunk])
        // Data after the request is refused before it is stored.
        const found = firstMessage(bytes)
        if (found !== null && found.end < bytes.length)
          throw protocolError('the call has more than one request')
      } catch (error) {
        bytes = null
        stream.removeAllListeners('data').resume()
        reject(error)
      }
    })
    stream.once('end', () => {
      const found = bytes === null ? null : firstMessage(bytes)
      if (found === null) reject(protocolError('the call has no whole request'))
      else resolve(found.message)
    })
  })
}

/** The requests of a call, one after another; reads on only when the next one is asked for. */
export async function* readRequests(stream: ServerHttp2Stream): AsyncGenerator<Buffer, void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let found = firstMessage(rest); found !== null; found = firstMessage(rest)) {
      yield found.message
      rest = rest.subarray(found.end)
    }
  }
}

/** Waits until a client has read everything sent, or has disconnected. */
export async function drained(stream: ServerHttp2Stream): Promise<void> {
  if (!stream.writableNeedDrain || stream.destroyed) return
  const stop = new AbortController()
  await Promise.race(['drain', 'close'].map((event) => once(stream, event, { signal: stop.signal })))
    .catch(() => {})
    .finally(() => stop.abort())
}

const UNIT_MS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** The milliseconds of a `grpc-timeout`, capped for a timer; null if it is missing or invalid. */
export function timeoutMs(text: unknown): number | null {
  const [, count, unit] = /^(\d{1,8})([HMSmun])$/.exec(String(text)) ?? []
  return unit === undefined ? null : Math.min(Math.ceil(Number(count) * UNIT_MS[unit]!), 2 ** 31 - 1)
}

/** Adds the store's position to metadata. */
export function withPosition(metadata: string[], position: Position | null): void {
  if (position === null) return
  metadata.push('x-block-height', position.height, 'x-block-timestamp', position.timestamp)
}
