import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { methodsOf as describedMethods, TRADING_DATA } from '#service/protos/descriptors'
import { encodeMessage } from '#service/protos/messages'
import { methodsOf } from '../../fixtures/requests/protos.ts'

/** Texts of all lengths about which the size of a message takes one byte more, some of them not in ASCII. */
const text = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom('', 'x'.repeat(126), 'é'.repeat(64), 'x'.repeat(16_400)),
)
const uint64 = fc.oneof(
  fc.bigInt(0n, (1n << 64n) - 1n),
  fc.constantFrom(0n, 127n, 128n, (1n << 31n) - 1n, 1n << 31n, 1n << 32n, (1n << 63n) - 1n, (1n << 64n) - 1n),
)

test('Messages are read by another library as they were, whatever the sizes of texts and of those beside them', () => {
  const type = describedMethods(TRADING_DATA).ListCheckpoints!.response
  const { responseDeserialize } = methodsOf(TRADING_DATA).ListCheckpoints!
  const edge = fc.record({ hash: text, blockHash: text, atBlock: uint64, cursor: text })
  fc.assert(
    fc.property(fc.array(edge, { maxLength: 20 }), (rows) => {
      const edges = rows.map(({ cursor, atBlock, ...node }) => ({
        node: { ...node, atBlock: String(atBlock) },
        cursor,
      }))
      const message = { checkpoints: { edges, pageInfo: { hasNextPage: true, startCursor: 'é' } } }
      const bytes = encodeMessage(type, message, 200 + 4 * JSON.stringify(message).length)
      const read = responseDeserialize(bytes) as {
        checkpoints: { edges: { node: Record<string, unknown>; cursor: string }[] }
      }
      assert.deepEqual(
        read.checkpoints.edges.map(({ node, cursor }) => [
          node.hash,
          node.blockHash,
          String(node.atBlock),
          cursor,
        ]),
        edges.map(({ node, cursor }) => [node.hash, node.blockHash, node.atBlock, cursor]),
      )
    }),
  )
})
