import type { EventPosition } from '../domain/event-position.ts'
import { bodyOf, type Envelope, EVENT_KIND } from '../events/bus-event.ts'
import type { DecodedEvent } from '../events/event.ts'
import { type LeftOutReason, type LeftOutSink, unlessFault } from '../events/left-out.ts'
import type { Batch } from '../model/batch.ts'
import { NO_BLOCK, type ProjectedBlock, type Projection } from '../model/projection.ts'
import { STORED } from './stored.ts'

const PROJECTIONS: readonly Projection[] = STORED.flatMap(({ projections }) => projections)

/** By the number of the kind in the envelope. Every event is looked up here. */
const BY_NUMBER: (Projection | undefined)[] = []
for (const projection of PROJECTIONS) {
  for (const number of projection.numbers) {
    const other = BY_NUMBER[number]?.kind
    if (other !== undefined)
      throw new TypeError(`kind ${number} is read as ${other} and as ${projection.kind}`)
    BY_NUMBER[number] = projection
  }
}

const BY_KIND = new Map(PROJECTIONS.map((projection) => [projection.kind, projection]))

/** Maximum bytes of an event of a kind that is read. Most have kilobytes; decoded they take several times as much. */
const MAX_EVENT_BYTES = 4 * 1024 * 1024

/** Maximum bytes of an event of a kind. Kinds that are not read are skipped, so they have no maximum of their own. */
export function mostBytesOf(number: number): number {
  if (number === EVENT_KIND.beginBlock || number === EVENT_KIND.endBlock) return MAX_EVENT_BYTES
  return BY_NUMBER[number] === undefined || mayBeLong(number) ? Number.POSITIVE_INFINITY : MAX_EVENT_BYTES
}

/** Whether events of a kind may be as long as a record. */
export function mayBeLong(number: number): boolean {
  return BY_NUMBER[number]?.isLong === true
}

/**
 * Decodes the body of an event of a stored kind; null for other kinds, and if the event is left out.
 *
 * @throws {MalformedMessageError} if the body is not a message of its kind.
 */
export function decodeEvent(envelope: Envelope, leaveOut: LeftOutSink): DecodedEvent | null {
  const projection = BY_NUMBER[envelope.kind]
  if (projection === undefined) return null
  const event = projection.decode(bodyOf(envelope), leaveOut)
  return event === null ? null : unlessFault(event, projection.faultOf(event), leaveOut)
}

/** Why an event is left out, from whatever source; null if it is stored. */
export function faultOf(event: DecodedEvent): LeftOutReason | null {
  return BY_KIND.get(event.kind)!.faultOf(event)
}

/** Adds an event's changes to a batch. The event is `block.events[at]`. */
export function projectEvent(
  batch: Batch,
  event: DecodedEvent,
  position: EventPosition,
  block: ProjectedBlock = NO_BLOCK,
  at = 0,
): void {
  BY_KIND.get(event.kind)!.project(batch, event, position, block, at)
}
