import { EventStreamError, type RecordPosition } from '../records/record-position.ts'
import { lastIndexOf, type OpenBlock } from './open-block.ts'

/*
 * Block 1 arrives in two parts with different hashes, genesis and the block itself, both of height 1. It is whole once
 * block 2 begins (docs/events.md, blocks).
 */

/**
 * The parts of block 1 that have ended, together, and their hashes in the order in which they came. They are held if all
 * parts are known to be stored: after one that is not, no other one counts as stored.
 */
export type EndedParts = { block: OpenBlock; hashes: readonly string[] }

/**
 * Checks a part that begins after others.
 *
 * @throws {EventStreamError} for a third part: there are two.
 */
export function checkPart(before: readonly string[], hash: string, position: RecordPosition): void {
  const others = new Set(before)
  if (others.delete(hash) || others.size < 2) return
  throw new EventStreamError(
    `block 1 begins a third time with another hash, ${JSON.stringify(hash.slice(0, 80))}: it may begin at most twice, as genesis and as the block itself`,
    position,
  )
}

/** A part has ended: its events follow those of the part before. */
export function joinPart(genesis: EndedParts | null, open: OpenBlock): EndedParts {
  if (genesis === null) return { block: open, hashes: [open.hash] }
  const { block, hashes } = genesis
  open.indexBefore = lastIndexOf(block)
  open.events = [...block.events, ...open.events]
  open.eventCount += block.eventCount
  open.weight += block.weight
  open.longWeight += block.longWeight
  open.incomplete ||= block.incomplete
  open.heldIndex = block.isHeld ? lastIndexOf(block) : block.heldIndex
  return { block: open, hashes: [...hashes, open.hash] }
}
