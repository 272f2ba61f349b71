import {
  type BufferPiece,
  type BufferPosition,
  PIECE_BYTES,
  readFileRange,
  type SafeFile,
} from './event-buffer.ts'

/** The events in a buffer that another thread writes, to be read once they are safe on disk. */
export class BufferedEvents {
  readonly #files: SafeFile[] = []
  #wake: (() => void)[] = []

  /** Records up to where a file is safe on disk. */
  grown(file: SafeFile): void {
    const index = this.#files.findIndex(({ number }) => number === file.number)
    if (index < 0) this.#files.push(file)
    else this.#files[index] = file
    for (const wake of this.#wake.splice(0)) wake()
  }

  /** Where reading begins. */
  get start(): BufferPosition {
    return { file: this.#files[0]?.number ?? 0, offset: 0 }
  }

  /** The next piece from a position on; waits for one if there is none. Null once `signal` is aborted. */
  async read(from: BufferPosition, signal: AbortSignal): Promise<BufferPiece | null> {
    while (!signal.aborted) {
      const file = this.#files.find(({ number }) => number >= from.file)
      const offset = file === undefined || file.number > from.file ? 0 : from.offset
      if (file !== undefined && (offset < file.safeBytes || file.isEnded)) {
        const { number, path, safeBytes, isEnded } = file
        const bytes = await readFileRange(path, offset, Math.min(PIECE_BYTES, safeBytes - offset))
        const end = offset + bytes.length
        const lastOfFile = isEnded && end >= safeBytes
        const next = lastOfFile ? { file: number + 1, offset: 0 } : { file: number, offset: end }
        return { path, file: number, offset, bytes, lastOfFile, next }
      }
      await this.#woken(signal)
    }
    return null
  }

  /** Whether everything that is safe on disk is before a position. */
  isAtEnd(position: BufferPosition): boolean {
    const last = this.#files.findLast(({ number }) => number >= position.file)
    return last === undefined || (last.number === position.file && position.offset >= last.safeBytes)
  }

  /** Forgets the files before a position: their owner removes them. */
  release(before: BufferPosition): void {
    while (this.#files[0]?.isEnded && this.#files[0].number < before.file) this.#files.shift()
  }

  #woken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake)
        resolve()
      }
      signal.addEventListener('abort', wake, { once: true })
      this.#wake.push(wake)
    })
  }
}
