import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { StoreHead } from '#core/store/pages/page'
import type { ByteRange } from '../http/responses/ranges.ts'

/** Bytes read at a time for a client. */
const READ_BYTES = 64 * 1024

/** A temporary file cannot be created or written: there is no disk space or no permission. */
export class NoTemporaryFileError extends Error {
  constructor(cause: unknown) {
    super(`no temporary file in ${tmpdir()}: ${(cause as Error).message}`, { cause })
    this.name = 'NoTemporaryFileError'
  }
}

/**
 * The bytes of an export, in a temporary file without a name, of which nothing is left after a kill. It is closed once all
 * who have retained it have released it.
 */
export class ExportFile {
  /** The last block of its snapshot. */
  readonly storeHead: StoreHead
  /** Its bytes so far. */
  size = 0
  readonly #handle: FileHandle
  readonly #hash = createHash('sha256')
  #tag: string | null = null
  #users = 1
  #isUnreadable = false
  #onUnused = () => {}

  private constructor(handle: FileHandle, storeHead: StoreHead) {
    this.#handle = handle
    this.storeHead = storeHead
  }

  /** Creates an empty file, retained for the caller. Rejects with {@link NoTemporaryFileError}. */
  static async create(storeHead: StoreHead): Promise<ExportFile> {
    const path = join(tmpdir(), `lyra-export-${randomUUID()}`)
    let handle: FileHandle | null = null
    try {
      handle = await open(path, 'wx+', 0o600)
      await unlink(path)
      return new ExportFile(handle, storeHead)
    } catch (error) {
      await handle?.close()
      throw new NoTemporaryFileError(error)
    }
  }

  /** Adds bytes at the end. Rejects with {@link NoTemporaryFileError}, such as for a full disk. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes)
    try {
      await this.#handle.writeFile(bytes)
    } catch (error) {
      throw new NoTemporaryFileError(error)
    }
    this.size += bytes.length
  }

  /** The entity tag of the whole file, after which nothing is written: a strong one, the same for the same bytes. */
  get tag(): string {
    this.#tag ??= `"${this.#hash.digest('base64url')}"`
    return this.#tag
  }

  /** The bytes of a range, read as they are taken. A fault of the disk makes the file unreadable. */
  read({ start, end }: ByteRange): Readable {
    return Readable.from(this.#pieces(start, end), { objectMode: false, highWaterMark: 1 })
  }

  async *#pieces(start: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = start; at <= end; at += READ_BYTES) {
      const length = Math.min(READ_BYTES, end + 1 - at)
      yield await this.#readPiece(at, length)
    }
  }

  async #readPiece(at: number, length: number): Promise<Uint8Array> {
    try {
      const { bytesRead, buffer } = await this.#handle.read(Buffer.allocUnsafe(length), 0, length, at)
      // The rest of the buffer is memory that was used for something else.
      if (bytesRead < length)
        throw new Error(`a temporary file ended at ${at + bytesRead} of ${this.size} bytes`)
      return buffer
    } catch (error) {
      this.#isUnreadable = true
      throw error
    }
  }

  /** Whether bytes of it could not be read, so that it must not be given to another client. */
  get isUnreadable(): boolean {
    return this.#isUnreadable
  }

  /** Calls back once nobody retains the file any more, and it is closed. */
  whenUnused(callback: () => void): void {
    this.#onUnused = callback
  }

  /** Whether a client reads it: somebody other than the cache retains it. */
  get isRead(): boolean {
    return this.#users > 1
  }

  /** Keeps it open until it is released once more. Nobody may retain a file that is closed. */
  retain(): void {
    if (this.#users === 0) throw new Error('the file is closed')
    this.#users += 1
  }

  async release(): Promise<void> {
    this.#users -= 1
    if (this.#users > 0) return
    this.#onUnused()
    await this.#handle.close()
  }
}
