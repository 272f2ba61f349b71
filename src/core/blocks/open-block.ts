import type { IdSequence } from '../events/event-ids.ts'
import type { BlockEvent } from './block.ts'

/** A block that has begun. */
export type OpenBlock = {
  height: bigint
  timestamp: bigint
  hash: string
  /** Whether its events are skipped: the store holds it. */
  isHeld: boolean
  /** Common prefix of its events' ids, `<height>-`. */
  idPrefix: string
  ids: IdSequence
  /** Of block 1, the last index of a first part that the store holds, and that is not among the events. */
  heldIndex: number
  incomplete: boolean
  events: BlockEvent[]
  /** Events to keep so far: as many as `events` has, unless they are only checked. */
  eventCount: number
  weight: number
  /** Bytes of its events of kinds that may be as long as a record. */
  longWeight: number
}
