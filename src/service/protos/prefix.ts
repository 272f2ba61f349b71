/** Length of the prefix that a message of gRPC has: a byte that says whether the message is compressed, and its length in four. */
export const PREFIX_BYTES = 5

/** Writes the prefix of a message, for which there is room before the message. */
export function writePrefix(framed: Buffer): void {
  framed[0] = 0
  framed.writeUInt32BE(framed.length - PREFIX_BYTES, 1)
}
