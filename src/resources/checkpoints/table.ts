import { integer, place, type Table, text } from '../table.ts'

export const checkpointTables: readonly Table[] = [
  {
    name: 'checkpoints',
    counted: 'checkpoints',
    columns: [integer('at_block'), text('hash'), text('block_hash'), integer('block_timestamp'), ...place],
    keyLength: 2,
  },
]
