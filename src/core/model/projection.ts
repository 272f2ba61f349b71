import type { EventPosition } from '../domain/event-position.ts'
import type { DecodedEvent } from '../events/event.ts'
import type { LeftOutReason, LeftOutSink } from '../events/left-out.ts'
import type { WireReader } from '../events/wire-reader.ts'
import type { Batch } from './batch.ts'

/** The block whose events are added to a batch: its time in Unix nanoseconds, and its stored events. */
export type ProjectedBlock = {
  timestamp: bigint
  events: readonly { event: DecodedEvent }[]
  /** Whether events of it are known to be missing. */
  isIncomplete?: boolean
}

/** The context of rows that are not from a block of the stream, but from an imported state. */
export const NO_BLOCK: ProjectedBlock = { timestamp: 0n, events: [] }

/** How Lyra handles events of one kind: it decodes their bytes, and projects them to the rows that they change. */
export type Projection<Event extends DecodedEvent = DecodedEvent> = {
  kind: Event['kind']
  /** The kinds by their numbers in the envelope (events/bus-event.ts). */
  numbers: readonly number[]
  /**
   * Whether an event may be as long as a record, with hundreds of thousands of elements. Other kinds with such a length are
   * damaged.
   */
  isLong?: true
  /**
   * Decodes an event; null if Lyra stores no part of it.
   *
   * @param leaveOut is called for parts of the event that cannot be stored
   *
   * @throws {MalformedMessageError} if the body is not a message of the kind.
   */
  decode(body: WireReader, leaveOut: LeftOutSink): Event | null
  /** Why an event is left out, from whatever source; null if it is stored. Invalid ids arrive as `""`. */
  faultOf(event: Event): LeftOutReason | null
  /** Adds the changes of an event to a batch. The event is `block.events[at]`. */
  project(batch: Batch, event: Event, position: EventPosition, block: ProjectedBlock, at: number): void
}
