/**
 * Size of a buffer that many events are copied into. With a buffer for each event, most of a batch's garbage would be
 * buffers.
 */
const SHARED_BUFFER_BYTES = 256 * 1024

/** A copy of bytes, `bytes[start..end)`, which never changes. */
export type CopiedBytes = { bytes: Buffer; start: number; end: number }

let buffer = Buffer.alloc(0)
let used = 0

/** Copies `bytes[start..end)`: the bytes of an event are valid only during its call. */
export function copyBytes(bytes: Buffer, start: number, end: number): CopiedBytes {
  const length = end - start
  if (used + length > buffer.length) {
    buffer = Buffer.allocUnsafeSlow(Math.max(SHARED_BUFFER_BYTES, length))
    used = 0
  }
  const copy = { bytes: buffer, start: used, end: used + length }
  bytes.copy(buffer, used, start, end)
  used = copy.end
  return copy
}
