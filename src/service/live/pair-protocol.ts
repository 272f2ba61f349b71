// The scalability protocol PAIR on TCP, as bytes: a handshake of both sides, then messages, each after its length.

/** The first bytes of both sides of a PAIR connection (version 0, protocol 16). */
export const HANDSHAKE = Buffer.from([0x00, 0x53, 0x50, 0x00, 0x00, 0x10, 0x00, 0x00])

/** Bytes before a message: its length, big-endian. */
export const LENGTH_BYTES = 8

export const TCP_KEEP_ALIVE_MS = 10_000

/** An event as a message: its length, and the event. */
export function messageOf(bytes: Buffer, start: number, end: number): Buffer {
  const message = Buffer.allocUnsafe(LENGTH_BYTES + end - start)
  message.writeBigUInt64BE(BigInt(end - start))
  bytes.copy(message, LENGTH_BYTES, start, end)
  return message
}
