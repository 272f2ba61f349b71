import { jsonText } from './json-text.ts'
import type { Resource } from './resource.ts'

/** The checkpoints of the network; a row is `[atBlock, hash, blockHash]`. */
export const checkpoints: Resource = {
  name: 'checkpoints',
  bodyField: 'checkpoints',
  path: '/api/v2/checkpoints',
  cursorTag: 1,
  key: [
    { column: 'at_block', type: 'uint64' },
    { column: 'hash', type: 'text' },
  ],
  scope: null,
  filters: [],
  dateRange: false,
  node: ([atBlock, hash, blockHash]) =>
    `{"hash":${jsonText(hash as string)},"blockHash":${jsonText(blockHash as string)},"atBlock":"${atBlock}"}`,
}
