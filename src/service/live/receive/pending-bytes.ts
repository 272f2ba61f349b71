// What has arrived on a connection of a message that is not whole.

/** Bytes that a socket reads at a time. */
const READ_BYTES = 64 * 1024

/** Memory of messages that is given back at once: the system takes blocks of this size. */
const LARGE_BYTES = 1024 * 1024

/** The bytes that have arrived and were not taken, until there are enough of them. */
export class PendingBytes {
  /** Memory for all that is needed, and for what is read with its end. */
  #memory: Buffer = Buffer.alloc(0)
  /** How much of the memory has arrived. */
  #length = 0
  #neededBytes: number

  /** @param neededBytes how many bytes must be there first */
  constructor(neededBytes: number) {
    this.#neededBytes = neededBytes
  }

  /** All that has arrived, with a new chunk, once it is enough; null before. A chunk that is enough alone is not copied. */
  join(chunk: Buffer): Buffer | null {
    if (this.#length === 0 && chunk.length >= this.#neededBytes) return chunk
    this.#append(chunk)
    return this.#length < this.#neededBytes ? null : this.#memory.subarray(0, this.#length)
  }

  /** Of joined bytes, keeps a copy of those that were not taken. With them, so many are needed next. */
  keepRest(rest: Buffer, neededBytes: number): void {
    this.#memory = Buffer.alloc(0)
    this.#length = 0
    this.#neededBytes = neededBytes
    if (rest.length > 0) this.#append(rest)
  }

  /**
   * Gives back the memory of joined bytes, if that is large: a thread that waits for the next block does not collect its garbage.
   * Nobody may use the bytes any more. A chunk alone is never so large, so its memory stays the socket's.
   */
  release(joined: Buffer): void {
    if (joined.length > LARGE_BYTES) (joined.buffer as ArrayBuffer).transfer(0)
  }

  #append(bytes: Buffer): void {
    const length = this.#length + bytes.length
    if (length > this.#memory.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(length, this.#neededBytes) + READ_BYTES)
      this.#memory.copy(grown, 0, 0, this.#length)
      this.#memory = grown
    }
    this.#length += bytes.copy(this.#memory, this.#length)
  }
}
