import { EventEmitter, once } from 'node:events'
import { basename } from 'node:path'
import { NODE_DISK } from '#core/log/log-disk'
import { StoreError } from '#core/store/errors'
import { type BufferPiece, type BufferPosition, PIECE_BYTES, type SafeFile } from './event-buffer.ts'

/** A buffer file that cannot be read at the moment. */
export class BufferReadError extends StoreError {
  override name = 'BufferReadError'
}

/** The events in a buffer that another thread writes, to be read once they are safe on disk. */
export function createBufferedEvents() {
  const files: SafeFile[] = []
  const news = new EventEmitter()

  /** Records up to where a file is safe on disk. */
  function grown(file: SafeFile): void {
    const index = files.findIndex(({ number }) => number === file.number)
    if (index < 0) files.push(file)
    else files[index] = file
    news.emit('grown')
  }

  /** Where reading begins. */
  function start(): BufferPosition {
    return { file: files[0]?.number ?? 0, offset: 0 }
  }

  /**
   * The next piece from a position on; waits for one if there is none. Null once `signal` is aborted.
   *
   * @throws {BufferReadError} if the file cannot be read.
   */
  async function read(from: BufferPosition, signal: AbortSignal): Promise<BufferPiece | null> {
    while (!signal.aborted) {
      const file = files.find(({ number }) => number >= from.file)
      const offset = file === undefined || file.number > from.file ? 0 : from.offset
      if (file !== undefined && (offset < file.safeBytes || file.isEnded)) {
        const { number, path, safeBytes, isEnded } = file
        const bytes = await NODE_DISK.read(path, offset, Math.min(PIECE_BYTES, safeBytes - offset)).catch(
          (error: NodeJS.ErrnoException) => {
            throw new BufferReadError(`the event buffer cannot be read (${error.code}, ${basename(path)})`)
          },
        )
        const end = offset + bytes.length
        const lastOfFile = isEnded && end >= safeBytes
        const next = lastOfFile ? { file: number + 1, offset: 0 } : { file: number, offset: end }
        return { path, file: number, offset, bytes, lastOfFile, next }
      }
      await once(news, 'grown', { signal }).catch(() => {})
    }
    return null
  }

  /** Whether everything that is safe on disk is before a position. */
  function isAtEnd(position: BufferPosition): boolean {
    const last = files.findLast(({ number }) => number >= position.file)
    return last === undefined || (last.number === position.file && position.offset >= last.safeBytes)
  }

  /** Waits until something that is safe on disk is after a position, or the signal is aborted. */
  async function untilMore(position: BufferPosition, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && isAtEnd(position)) await once(news, 'grown', { signal }).catch(() => {})
  }

  /** Forgets the files before a position: their owner removes them. */
  function release(before: BufferPosition): void {
    while (files[0]?.isEnded && files[0].number < before.file) files.shift()
  }

  return { grown, start, read, isAtEnd, untilMore, release }
}

export type BufferedEvents = ReturnType<typeof createBufferedEvents>
