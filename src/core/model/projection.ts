import type { EventPosition } from '../domain/event-position.ts'
import type { DecodedEvent } from '../events/event.ts'
import type { LeftOutReason, LeftOutSink } from '../events/left-out.ts'
import type { WireReader } from '../events/wire-reader.ts'
import type { Batch } from './batch.ts'

/** A block as its events are added to a batch: its time in Unix nanoseconds, and those of its events that are kept. */
export type ProjectedBlock = {
  timestamp: bigint
  events: readonly { event: DecodedEvent }[]
  /** Whether events of it are known to be missing. */
  isIncomplete?: boolean
}

/** The context of events that are not from a block of the stream: rows of a state that is imported. */
export const NO_BLOCK: ProjectedBlock = { timestamp: 0n, events: [] }

/** How events of a kind arrive: from their bytes in the stream to the rows that they change. */
export type Projection<Event extends DecodedEvent = DecodedEvent> = {
  kind: Event['kind']
  /** The kinds of the envelope, as they are numbered (events/bus-event.ts). */
  numbers: readonly number[]
  /** Whether an event may be as long as a record (hundreds of thousands of elements); other kinds of that length are damaged. */
  isLong?: true
  /**
   * Decodes an event; null if Lyra keeps no part.
   *
   * @param leaveOut is told of parts of the event that cannot be kept
   * @throws {MalformedMessageError} if the body is not a message of the kind.
   */
  decode(body: WireReader, leaveOut: LeftOutSink): Event | null
  /** Like decode, for an event that is only checked: its long list stays empty. By default the same. */
  decodeToCheck?(body: WireReader, leaveOut: LeftOutSink): Event | null
  /** Why an event is left out, whatever source it is from; null if it is kept. An id that is none is `""`. */
  faultOf(event: Event): LeftOutReason | null
  /** Adds what an event changes to a batch; it is the one at `at` of the block's events. */
  project(batch: Batch, event: Event, position: EventPosition, block: ProjectedBlock, at: number): void
}
