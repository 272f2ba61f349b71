import type { Envelope } from '../events/bus-event.ts'
import { beginsWith } from '../events/equal-bytes.ts'
import type { IdSequence } from '../events/event-ids.ts'
import { EventStreamError, type RecordPosition } from '../records/record-position.ts'
import type { BlockEvent } from './block.ts'

/** A block that has begun. */
export type OpenBlock = {
  height: bigint
  timestamp: bigint
  hash: string
  /** Whether the store has it, so that its events are skipped. */
  isStored: boolean
  /** Common prefix of its events' ids, `<height>-`. */
  idPrefix: string
  ids: IdSequence
  /** In block 1, the last index of a first part that is stored, and so not among the events. */
  storedIndex: number
  isIncomplete: boolean
  events: BlockEvent[]
  weight: number
  /** Bytes of its events of kinds that may be as long as a record. */
  longWeight: number
}

/** The most digits of an index. */
const MAX_INDEX_DIGITS = 9

/** An id with the longest height there can be. */
const MAX_ID_LENGTH = 20 + 1 + MAX_INDEX_DIGITS

const EVENT_ID = /^\d+-\d{1,9}$/

/**
 * The index in an event's id, `<height>-<index>`; null if the height is not that of the block.
 *
 * @param position of the event, for the error
 * @throws {EventStreamError} for an id of another form.
 */
export function indexInBlock(
  envelope: Envelope,
  { idPrefix }: OpenBlock,
  position: RecordPosition,
): number | null {
  const { bytes, idStart, idEnd } = envelope
  const digits = idStart + idPrefix.length
  const isIndex = digits < idEnd && idEnd - digits <= MAX_INDEX_DIGITS
  if (isIndex && beginsWith(bytes, idStart, idPrefix)) {
    let index = 0
    for (let at = digits; at < idEnd; at++) {
      const digit = bytes[at]! - 0x30
      if (digit < 0 || digit > 9) throw otherIdForm(envelope, position)
      index = index * 10 + digit
    }
    return index
  }
  const isShort = idEnd - idStart <= MAX_ID_LENGTH
  if (isShort && EVENT_ID.test(bytes.toString('latin1', idStart, idEnd))) return null
  throw otherIdForm(envelope, position)
}

/** Whether an event's id begins with that of a block. */
export function hasIdOf({ bytes, idStart }: Envelope, idPrefix: string): boolean {
  return beginsWith(bytes, idStart, idPrefix)
}

function otherIdForm({ bytes, idStart, idEnd }: Envelope, position: RecordPosition): EventStreamError {
  const id = bytes.toString('utf8', idStart, Math.min(idEnd, idStart + 80))
  return new EventStreamError(
    `not a BusEvent: its id is ${JSON.stringify(id)} and not "<height>-<index in block>"`,
    position,
  )
}
