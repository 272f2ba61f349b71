/** Bytes of events that are copied into one buffer: one buffer for each event would be most of a batch's garbage. */
const SHARED_BUFFER_BYTES = 256 * 1024

/** A copy of some bytes, `bytes[start..end)`, never changed again. */
export type CopiedBytes = { bytes: Buffer; start: number; end: number }

let buffer = Buffer.alloc(0)
let used = 0

/** Copies `bytes[start..end)`: what an event is read from holds only during its call. */
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
