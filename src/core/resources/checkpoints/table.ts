import { hash, integer, natural, positionColumns } from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** `at_block` is the height that the event names, `block_timestamp` the time of the block in which it arrived. */
export const checkpointTable = defineTable({
  name: 'checkpoints',
  counted: 'checkpoints',
  pruned: { time: 'block_timestamp', height: 'at_block' },
  columns: {
    at_block: natural(),
    hash: hash(),
    block_hash: hash(),
    block_timestamp: integer(),
    ...positionColumns,
  },
  key: ['at_block', 'hash'],
  distribution: 'nowhere',
})
