/** The source has fewer bytes than are needed. */
export class CutShortError extends Error {}

/** A source of chunks that can be read in pieces, which can be put back. */
export class ByteSource {
  /** Number of bytes read so far. */
  offset = 0
  readonly #chunks: AsyncIterator<Buffer>
  #back: Buffer | null = null

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** The next bytes; null at the end. */
  async next(): Promise<Buffer | null> {
    let chunk = this.#back
    this.#back = null
    while (chunk === null || chunk.length === 0) {
      const { done, value } = await this.#chunks.next()
      if (done) return null
      chunk = value
    }
    this.offset += chunk.length
    return chunk
  }

  /** Up to `count` buffered bytes, without consuming them. */
  ahead(count: number): Buffer {
    return this.#back?.subarray(0, count) ?? Buffer.alloc(0)
  }

  putBack(rest: Buffer): void {
    this.#back = rest
    this.offset -= rest.length
  }

  async isAtEnd(): Promise<boolean> {
    const chunk = await this.next()
    if (chunk !== null) this.putBack(chunk)
    return chunk === null
  }

  /** The next `count` bytes, or fewer at the end. */
  async readUpTo(count: number): Promise<Buffer> {
    let bytes: Buffer = Buffer.alloc(0)
    while (bytes.length < count) {
      const chunk = await this.next()
      if (chunk === null) break
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
    }
    if (bytes.length > count) this.putBack(bytes.subarray(count))
    return bytes.subarray(0, count)
  }

  /**
   * The next `count` bytes.
   *
   * @throws {CutShortError} if there are fewer.
   */
  async read(count: number): Promise<Buffer> {
    const bytes = await this.readUpTo(count)
    if (bytes.length < count) throw new CutShortError()
    return bytes
  }

  async skip(count: number): Promise<void> {
    await this.read(count)
  }

  /** Skips a text of any length, which ends with a zero byte. */
  async skipText(): Promise<void> {
    for (;;) {
      const chunk = await this.next()
      if (chunk === null) throw new CutShortError()
      const end = chunk.indexOf(0)
      if (end >= 0) {
        this.putBack(chunk.subarray(end + 1))
        return
      }
    }
  }
}
