import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'

/** Writes the first events of every block: its `BeginBlock`, then its time. Later events belong to the block. */
export function writeBegin({ out, block }: Context): void {
  out.beginBlock(block.height, block.upperCaseHash)
  out.write(EVENT_TYPES.beginBlock, null, { 1: block.height, 2: block.time, 3: block.lowerCaseHash })
  out.write(EVENT_TYPES.timeUpdate, null, { 1: block.time })
}

/** Writes the block's checkpoint. */
export function writeCheckpoint({ out, block, random }: Context): void {
  out.write(EVENT_TYPES.checkpoint, null, { 1: random.hex(), 2: block.upperCaseHash, 3: block.height })
}

/** Writes the block's last event. */
export function writeEnd({ out, block }: Context): void {
  out.write(EVENT_TYPES.endBlock, null, { 1: block.height })
}
