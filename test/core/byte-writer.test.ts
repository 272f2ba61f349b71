import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteWriter } from '#core/events/byte-writer'

test('A text is written as it is or, where more than was reserved, an error', () => {
  for (const length of [1, 22, 23, 24, 25, 40, 127])
    for (const text of ['x'.repeat(length), `é${'x'.repeat(length - 1)}`, `${'x'.repeat(length - 1)}😀`]) {
      const bytes = Buffer.from(text)
      const written = Buffer.concat([Buffer.from([(1 << 3) | 2]), sizeOf(bytes.length), bytes])
      for (let reserved = 0; reserved <= written.length + 5; reserved++) {
        const write = () => {
          const writer = new ByteWriter(reserved)
          writer.field(1, text)
          return writer.take(0)
        }
        if (reserved < written.length) assert.throws(write, RangeError, `${text} in ${reserved}`)
        else assert.deepEqual(write(), written)
      }
    }
})

/** A size as a varint of one byte or two. */
const sizeOf = (size: number) => Buffer.from(size < 128 ? [size] : [(size & 0x7f) | 0x80, size >> 7])
