import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyBytes, equalBytes, equalBytesAt } from '#core/events/equal-bytes'

/** Longer than two steps of the comparison, at places that no word is aligned to. */
const MOST = 40

test('bytes are equal if each of them is, whatever their number and place', () => {
  const bytes = Uint8Array.from({ length: MOST + 8 }, (_, index) => 0x80 + index)
  for (let length = 0; length <= MOST; length++) {
    for (let start = 0; start < 5; start++) {
      const expected = copyBytes(bytes, start, start + length)
      assert.ok(equalBytes(expected, bytes, start, start + length), `${length} bytes from ${start}`)
      assert.ok(!equalBytes(expected, bytes, start, start + length + 1), 'one more')
      for (let at = 0; at < length; at++) {
        const other = Uint8Array.from(bytes)
        other[start + at]! ^= 0x80
        assert.ok(!equalBytes(expected, other, start, start + length), `${length} bytes, the one at ${at}`)
      }
    }
  }
})

test('bytes are compared from any place of the expected ones', () => {
  const expected = copyBytes(Uint8Array.from({ length: MOST }, (_, index) => index))
  const bytes = Uint8Array.from({ length: MOST }, (_, index) => index + 3)
  assert.ok(equalBytesAt(expected, 3, MOST - 3, bytes, 0))
  assert.ok(!equalBytesAt(expected, 2, MOST - 3, bytes, 0))
})
