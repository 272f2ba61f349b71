import { setTimeout as sleep } from 'node:timers/promises'
import type { EventPosition } from '#core/domain/event-position'
import type { Unseen } from '#core/domain/unseen'
import type { Resource } from '#core/model/resource'

/** Bytes that are sent at a time, at most, unless a single row is longer. */
export const MAX_PIECE_BYTES = 256 * 1024

/** How long to wait for a replica that lags, or for the first block of a store, milliseconds. */
export const LAG_WAIT_MS = 500

/** How long a follower goes without bytes, milliseconds: Node's agent ends connections that are silent for 5 s. */
export const SILENCE_MS = 4_000

/** How long a feed waits, between two pieces, for followers to take the first one, milliseconds. */
const PIECE_WAIT_MS = 250

/** Follows a feed: the client of a stream. */
export type Follower = {
  /**
   * Sends bytes, in the order of calls. Closes the follower if too many are unsent.
   *
   * @param sharers how many followers are sent the same bytes, which are in memory once
   */
  send(bytes: Buffer, sharers: number): void
  /**
   * Whether it has been sent nothing for {@link SILENCE_MS}, and nothing is unsent: a client that reads nothing is to count as
   * idle.
   */
  readonly isSilent: boolean
  /** Resolves once few bytes are unsent, or the follower is closed. */
  drained(): Promise<void>
  /** Whether the client is gone. */
  readonly isClosed: boolean
}

/** Start of a follower: after its missing ranges, after a position in the stream, or with new rows only. */
export type Start = { unseen: Unseen } | { after: EventPosition } | 'now'

/** An event of a stream: a row, and the cursor to resume after it. */
export function eventText({ name }: Resource, id: string, node: string): string {
  return `id: ${id}\nevent: ${name}\ndata: ${node}\n\n`
}

/**
 * The position to resume from without a row. Widely used clients ignore an id without data; no decoder takes an empty list for
 * a row.
 */
export function positionText(id: string): string {
  return `id: ${id}\nevent: position\ndata: []\n\n`
}

/**
 * A sign of life for a follower whose position is not known yet. Not a block of its own: some clients report an empty event for
 * it.
 */
export const COMMENT = Buffer.from(': \n')

/** Sends the same bytes to all of some followers. */
export function sendToAll(followers: Iterable<Follower>, bytes: Buffer): void {
  const all = [...followers]
  for (const follower of all) follower.send(bytes, all.length)
}

/** Waits until followers have read the sent data, for a limited time: a slow one must not delay the others. */
export async function allDrained(followers: Iterable<Follower>): Promise<void> {
  const stop = new AbortController()
  const waited = sleep(PIECE_WAIT_MS, undefined, { signal: stop.signal }).catch(() => {})
  await Promise.race([waited, Promise.all([...followers].map((follower) => follower.drained()))])
  stop.abort()
}
