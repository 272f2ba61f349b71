import { defineResource, type KeyColumn } from '../resource.ts'
import { textCursor } from '../text-cursor.ts'
import { checkpointTable } from './table.ts'

const key: readonly KeyColumn[] = [
  { column: 'at_block', type: 'uint64' },
  { column: 'hash', type: 'text' },
]

/** The checkpoints of the network. */
export const checkpoints = defineResource({
  name: 'checkpoints',
  nodeName: 'Checkpoint',
  summary: 'List the checkpoints of the network',
  meaning: 'A checkpoint of the network.',
  path: '/api/v2/checkpoints',
  grpcMethod: 'ListCheckpoints',
  tag: 1,
  cursor: textCursor('c', key),
  key,
  scope: null,
  filters: [],
  needsFilter: false,
  dateRange: false,
  storage: {
    table: checkpointTable,
    columns: ['at_block', 'hash', 'block_hash'],
    arrivals: 'all rows',
  },
  fields: [
    { name: 'hash', meaning: 'Hash of the checkpoint.', column: 'hash', form: 'text' },
    {
      name: 'blockHash',
      meaning: 'Hash of the block of the checkpoint.',
      column: 'block_hash',
      form: 'text',
    },
    {
      name: 'atBlock',
      meaning: 'Height of the block of the checkpoint.',
      column: 'at_block',
      form: 'integer',
    },
  ],
  rowsStay: true,
  exportFirst: ['atBlock'],
  coverage: 'count and block times',
})
