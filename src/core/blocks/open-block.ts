import type { BlockIds } from '../events/event-ids.ts'
import type { BlockEvent } from './block.ts'

/** A block that has begun. */
export type OpenBlock = {
  height: bigint
  timestamp: bigint
  hash: string
  /** Whether the store has it, so that its events are skipped. */
  isStored: boolean
  ids: BlockIds
  /** In block 1, the last index of a first part that is stored, and so not among the events. */
  storedIndex: number
  isIncomplete: boolean
  events: BlockEvent[]
  weight: number
  /** Of this, the weight of events of kinds that may be as long as a record. */
  longWeight: number
}
