import { defineTable, integer, natural, place, text } from '../table.ts'

export const checkpointTable = defineTable({
  name: 'checkpoints',
  counted: 'checkpoints',
  pruned: { time: 'block_timestamp', height: 'at_block' },
  columns: { at_block: natural(), hash: text(), block_hash: text(), block_timestamp: integer(), ...place },
  key: ['at_block', 'hash'],
  spread: 'nowhere',
})
