import { defineResource } from '../../model/resource.ts'
import { checkpointTable } from './table.ts'

/** The checkpoints of the network. */
export const checkpoints = defineResource({
  name: 'checkpoints',
  nodeName: 'Checkpoint',
  summary: 'List the checkpoints of the network',
  meaning: 'A checkpoint of the network.',
  path: '/api/v2/checkpoints',
  grpcMethod: 'ListCheckpoints',
  tag: 1,
  cursor: 'c',
  key: [
    { column: 'at_block', type: 'uint64' },
    { column: 'hash', type: 'text' },
  ],
  storage: {
    table: checkpointTable,
  },
  fields: [
    { name: 'hash', meaning: 'Hash of the checkpoint.', form: 'text' },
    {
      name: 'blockHash',
      meaning: 'Hash of the block of the checkpoint.',
      form: 'text',
    },
    {
      name: 'atBlock',
      meaning: 'Height of the block of the checkpoint.',
      form: 'integer',
    },
  ],
  rowsStay: true,
  exportFirst: ['atBlock'],
  coverage: 'count and block times',
})
