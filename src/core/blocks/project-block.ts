import type { Batch } from '../model/batch.ts'
import { projectEvent } from '../resources/projections.ts'
import type { Block } from './block.ts'

/** Adds a block's changes to a batch. */
export function projectBlock(batch: Batch, block: Block): void {
  batch.blocks++
  const { height, replacesAfter } = block
  if (replacesAfter !== null) batch.replaced.push({ height, index: replacesAfter })
  const { events } = block
  for (let at = 0; at < events.length; at++) {
    const { index, event } = events[at]!
    projectEvent(batch, event, { height, index }, block, at)
  }
}
