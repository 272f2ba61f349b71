import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'
import { HEX_LENGTH } from './random.ts'

/** Writes what every block begins with: its `BeginBlock`, then its time. Events from here on are the block's. */
export function writeBegin({ out, block }: Context): void {
  out.beginBlock(block.height, block.upperCaseHash)
  out.begin(EVENT_TYPES.beginBlock, null)
  out.body.uint(1, block.height)
  out.body.int64(2, block.time)
  out.body.content(3, block.lowerCaseHash)
  out.end()
  out.begin(EVENT_TYPES.timeUpdate, null)
  out.body.int64(1, block.time)
  out.end()
}

/** Writes the block's checkpoint. */
export function writeCheckpoint({ out, block, random }: Context): void {
  const hash = Buffer.alloc(HEX_LENGTH)
  random.fillHex(hash)
  out.begin(EVENT_TYPES.checkpoint, null)
  out.body.content(1, hash)
  out.body.content(2, block.upperCaseHash)
  out.body.uint(3, block.height)
  out.end()
}

/** Writes the block's last event. */
export function writeEnd({ out, block }: Context): void {
  out.begin(EVENT_TYPES.endBlock, null)
  out.body.uint(1, block.height)
  out.end()
}
