/** Four words of 32 bits. */
const STEP_BYTES = 16

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
 * Whether `bytes[start..end)` are the expected ones. Compares four words of 32 bits at once, through a view: real elements take
 * half the time that single words take, a sixth of that of bytes, and less than a call of Buffer's own comparison.
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
  for (; at + STEP_BYTES <= length; at += STEP_BYTES) {
    if (!equalSteps(expected, from + at, view, start + at)) return false
  }
  for (; at < length; at++) {
    if (expected.getUint8(from + at) !== view.getUint8(start + at)) return false
  }
  return true
}

/** Whether {@link STEP_BYTES} bytes are equal. */
function equalSteps(one: DataView, from: number, other: DataView, start: number): boolean {
  const differences =
    (one.getInt32(from, true) ^ other.getInt32(start, true)) |
    (one.getInt32(from + 4, true) ^ other.getInt32(start + 4, true)) |
    (one.getInt32(from + 8, true) ^ other.getInt32(start + 8, true)) |
    (one.getInt32(from + 12, true) ^ other.getInt32(start + 12, true))
  return differences === 0
}

/** Whether bytes contain an ASCII text at a position. */
export function beginsWith(bytes: Uint8Array, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}
