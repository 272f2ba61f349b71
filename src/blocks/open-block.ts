import type { BlockEvent } from './block.ts'

/**
 * What a height is to the store: held already, held without the events of some resources, held from an import, in a
 * recorded gap, below the first, the next one, or beyond that.
 */
export type HeightClass = 'held' | 'lacks' | 'imported' | 'fills' | 'below' | 'next' | 'beyond'

/** A block that has begun. */
export type OpenBlock = {
  height: bigint
  timestamp: bigint
  hash: string
  class: HeightClass
  /** Of a block that is held, the kinds of event that it lacks; null: all are kept. */
  only: ReadonlySet<number> | null
  /** What the ids of its events begin with, `<height>-`. */
  idPrefix: string
  lastIndex: number
  /** Of block 1, the last index of a first part that the store holds, and that is not among the events. */
  heldIndex: number
  incomplete: boolean
  events: BlockEvent[]
  weight: number
}
