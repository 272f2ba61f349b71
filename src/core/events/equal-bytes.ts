const WORD_BYTES = 4

let viewed: Uint8Array = new Uint8Array(0)
let view = viewOf(viewed)

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A copy of `bytes[start..end)`, for comparing other bytes with it. */
export function copyBytes(bytes: Uint8Array, start = 0, end = bytes.length): DataView {
  return viewOf(new Uint8Array(bytes.subarray(start, end)))
}

/**
 * Whether `bytes[start..end)` are the expected ones. Compares words of 32 bits, through a view: this takes a third of the
 * time of a loop over bytes or of words of 64 bits, which are objects, and less than a call of Buffer's own comparison.
 */
export function equalBytes(expected: DataView, bytes: Uint8Array, start: number, end: number): boolean {
  const length = expected.byteLength
  return end - start === length && equalBytesAt(expected, 0, length, bytes, start)
}

/** As {@link equalBytes}, of `length` bytes from `from` on of the expected ones and from `start` on of the others. */
export function equalBytesAt(
  expected: DataView,
  from: number,
  length: number,
  bytes: Uint8Array,
  start: number,
): boolean {
  if (bytes !== viewed) {
    viewed = bytes
    view = viewOf(bytes)
  }
  let at = 0
  for (; at + WORD_BYTES <= length; at += WORD_BYTES) {
    if (expected.getInt32(from + at, true) !== view.getInt32(start + at, true)) return false
  }
  for (; at < length; at++) {
    if (expected.getUint8(from + at) !== view.getUint8(start + at)) return false
  }
  return true
}

/** Whether bytes contain an ASCII text at a position. */
export function beginsWith(bytes: Uint8Array, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}
