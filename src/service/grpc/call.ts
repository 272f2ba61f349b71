import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import type { StoreHead } from '#core/store/pages/page'
import type { KnownStoreHead } from '../http/exchange.ts'

/** A call while it is answered. */
type Call = {
  stream: ServerHttp2Stream
  /** The address that it counts for. */
  address: string
  /** Metadata sent before the answer: alternating lower-case names and values, which Node writes fastest. */
  metadata: string[]
}

/**
 * A method. `unary` resolves with the framed answer to its request. `stream` sends answers itself, and the call ends once it
 * resolves. Both may throw an `ApiError` (http/errors.ts).
 */
export type MethodHandler =
  | { unary(call: Call, request: Buffer): Promise<Buffer> }
  | { stream(call: Call, send: (message: Buffer) => Promise<void>): Promise<void> }

/** Waits until a client has read enough for more to be sent, or has disconnected. */
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

/** Adds the store head to metadata, and notes it as the one that errors show. */
export function addStoreHead(metadata: string[], storeHead: StoreHead | null, known: KnownStoreHead): void {
  if (storeHead === null) return
  known.storeHead = storeHead
  metadata.push('x-block-height', storeHead.height, 'x-block-timestamp', storeHead.timestamp)
}
