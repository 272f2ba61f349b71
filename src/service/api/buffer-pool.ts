/** The smallest block: most pages of the usual size fit in. */
const MIN_BLOCK_BYTES = 32 * 1024

/** Larger blocks are a multiple of this: powers of two would waste half of a long page's memory. */
const STEP_BYTES = 256 * 1024

/** How much unused memory is kept. */
const MAX_FREE_BYTES = 4 * 1024 * 1024

/**
 * Memory that is reused instead of left to the garbage collector, which would scan everything whenever a few dozen
 * megabytes had accumulated.
 */
export class BufferPool {
  readonly #free: ArrayBuffer[] = []
  #freeBytes = 0

  /** A block that holds so many bytes, with anything in it. */
  take(bytes: number): ArrayBuffer {
    const found = this.#free.findIndex(({ byteLength }) => byteLength >= bytes)
    if (found === -1) return new ArrayBuffer(blockBytes(bytes))
    const [block] = this.#free.splice(found, 1) as [ArrayBuffer]
    this.#freeBytes -= block.byteLength
    return block
  }

  /** Takes a block back, to be used again. */
  give(block: ArrayBuffer): void {
    if (this.#freeBytes + block.byteLength > MAX_FREE_BYTES) return
    this.#free.push(block)
    this.#freeBytes += block.byteLength
  }
}

/** The size of a new block: of a few sizes, so that it can be used again. */
function blockBytes(bytes: number): number {
  if (bytes > STEP_BYTES) return Math.ceil(bytes / STEP_BYTES) * STEP_BYTES
  return Math.max(MIN_BLOCK_BYTES, 2 ** Math.ceil(Math.log2(bytes)))
}
