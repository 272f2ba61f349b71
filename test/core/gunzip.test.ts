import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { CompressionError, gunzip } from '#core/records/gunzip'
import { createRandom } from '../fixtures/random.ts'
import { scaled } from '../fixtures/sampling.ts'

/** Inflates a source of chunks of a size: the pieces, and whether it is whole. */
async function inflated(compressed: Buffer, chunkBytes: number) {
  async function* chunks() {
    for (let at = 0; at < compressed.length; at += chunkBytes) yield compressed.subarray(at, at + chunkBytes)
  }
  const pieces: Buffer[] = []
  const reading = gunzip(chunks())
  for (;;) {
    const { done, value } = await reading.next()
    if (done) return { pieces, isWhole: value as boolean, bytes: Buffer.concat(pieces) }
    pieces.push(Buffer.from(value as Buffer))
  }
}

const MEMBERS = scaled(10_000, 200_000)

test('Tens of thousands of gzip members with little or nothing in them cost little each', async () => {
  const [empty, letter] = [gzipSync(''), gzipSync('x')]
  const members = Array.from({ length: MEMBERS }, (_, index) => (index % 4 === 0 ? letter : empty))
  const compressed = Buffer.concat(members)
  // Each of Node's zlib streams takes half a megabyte, and at least a round of the event loop.
  let turns = 0
  const hook = createHook({
    init: (_, type) => {
      if (type === 'Immediate' || type === 'TickObject') turns++
    },
  }).enable()
  const { pieces, bytes, isWhole } = await inflated(compressed, 64 * 1024)
  hook.disable()
  assert.ok(isWhole)
  assert.ok(bytes.equals(Buffer.alloc(MEMBERS / 4, 'x')))
  assert.ok(pieces.length <= MEMBERS / 1_000, `${pieces.length} pieces`)
  assert.ok(
    turns < MEMBERS / 20,
    `${turns} rounds of the event loop or its queue for ${members.length} members`,
  )
})

test('Members inflate however the source is split; a truncated source yields its good bytes', async () => {
  const random = createRandom(5)
  const texts = Array.from({ length: scaled(40, 200) }, () => {
    const size = [0, 1, 100, 16_383, 16_384, 16_385, 60_000][random.integer(7)]!
    return Buffer.from(Array.from({ length: size }, () => random.integer(256)))
  })
  const members = texts.map((text) => gzipSync(text))
  const compressed = Buffer.concat(members)
  const plain = Buffer.concat(texts)
  // Chunks that end at the end of a member, just before it and just after it, too.
  const first = members[0]!.length
  for (const chunkBytes of [first - 1, first, first + 1, 1_000, 17_000, 64 * 1024, compressed.length]) {
    const { bytes, isWhole } = await inflated(compressed, chunkBytes)
    assert.ok(isWhole && bytes.equals(plain), `chunks of ${chunkBytes}`)
  }
  for (let end = compressed.length - 1; end > compressed.length - 40; end--) {
    const { bytes, isWhole } = await inflated(compressed.subarray(0, end), 17_000)
    assert.ok(!isWhole && plain.subarray(0, bytes.length).equals(bytes), `cut at ${end}`)
    assert.ok(bytes.length >= plain.length - texts.at(-1)!.length, `cut at ${end}`)
  }
})

test('A wrong check sum of a small member is found, and the data before it are returned', async () => {
  const harmed = gzipSync('second')
  harmed[harmed.length - 8]! ^= 1
  async function* chunks() {
    yield Buffer.concat([gzipSync('first'), harmed])
  }
  const pieces: string[] = []
  await assert.rejects(async () => {
    for await (const piece of gunzip(chunks())) pieces.push(piece.toString())
  }, CompressionError)
  assert.equal(pieces.join(''), 'firstsecond')
})
