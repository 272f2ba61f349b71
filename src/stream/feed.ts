import type { Resource } from '../resources/resource.ts'
import type { Progress } from './stream-cursor.ts'

/** One that follows a feed: the client of a stream. */
export type Follower = {
  /** Takes bytes, in their order; one that has fallen too far behind closes itself. */
  send(bytes: Buffer): void
  /** Resolves once little of what was sent is waiting. */
  drained(): Promise<void>
  /** Whether there is nobody any more. */
  readonly isClosed: boolean
}

/** Where a follower begins: behind what it has had, or with what comes from now on. */
export type Start = Progress | 'now'

/** The rows of one selection as they come, for any number of followers: read once, sent to all. */
export type Feed = {
  /** Reads what has come and sends it to everyone who has had all before. */
  pull(): Promise<void>
  /** Sends what a follower has not had, and from then on what comes. Resolves once it is level with the feed. */
  join(follower: Follower, start: Start): Promise<void>
  leave(follower: Follower): void
  /** Whether a gap may be filled that the feed waits for: of that the position says nothing. */
  readonly awaitsGaps: boolean
  /** Says to all followers that the stream is alive, and how far it is. */
  keepAlive(): void
}

/** An event of a stream: a row, and the cursor to go on from behind it. */
export function eventText({ name }: Resource, id: string, node: string): string {
  return `id: ${id}\nevent: ${name}\ndata: ${node}\n\n`
}

/** A cursor by itself: where to go on from, where no row has come. */
export function idText(id: string): string {
  return `id: ${id}\n\n`
}
