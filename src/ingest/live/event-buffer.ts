import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RECORD_HEADER_BYTES } from '../../records/record-framer.ts'

const FILE_NAME = /^lyra-buffer-(\d{16})\.bevt$/

/** How long a write waits before it is tried again where the disk is full, in milliseconds. */
const DISK_FULL_WAIT_MS = 1_000

/** What the core sends is its operator's alone. */
export const PRIVATE_FOLDER = { recursive: true, mode: 0o700 } as const
export const PRIVATE_FILE = 0o600

export type EventBufferOptions = {
  folder: string
  /** Where files go once they are committed; null: they are removed. */
  archive: string | null
  /** A file of this size is followed by another one, at the next end of a block. */
  maxFileBytes: number
  onNotice: (message: string) => void
  /** Keeps files after the buffer has released them; null: they are deleted. */
  follower?: BufferFollower | null
}

/** Keeps the files of a buffer on for another reader. What goes wrong with that is its own affair: it never throws. */
export type BufferFollower = {
  /** The greatest number of a file that it keeps; 0 where it keeps none. */
  lastNumber: number
  /** A file is there, and will be written to its end. */
  opened(number: number, path: string): void
  /** So many bytes of a file are safe on disk, and may be read. */
  grown(number: number, safeBytes: number): void
  /** The disk is full: gives up a file that the buffer itself needs no longer; false where there is none. */
  makeRoom(heldByBuffer: ReadonlySet<number>): boolean
}

/** A file of the buffer: what of it is safe on disk may be read. */
type BufferFile = { path: string; number: number; safeBytes: number; ended: boolean }

/** A place to read from: the number of a file, and an offset in it. */
export type BufferPosition = { file: number; offset: number }

/** A piece of the buffer: which file it is of, and where the next one begins. */
export type BufferPiece = {
  path: string
  file: number
  offset: number
  bytes: Buffer
  next: BufferPosition
  lastOfFile: boolean
}

/**
 * An append-only buffer of event files on disk, between a core that does not send again and a store that may be
 * slow or away. What is appended is read back once it is safe on disk: at the end of each block.
 */
export class EventBuffer {
  readonly #options: EventBufferOptions
  readonly #files: BufferFile[] = []
  #handle: FileHandle | null = null
  /** Numbers only rise: a position in a released file must not mean one in a later file. */
  #nextNumber: number
  #sequence = 0n
  #writtenBytes = 0
  #pending: Buffer[] = []
  #pendingBytes = 0
  /** How many of the pending bytes the last end of a block among them covers. */
  #pendingWhole = 0
  /** Where among them files are to end, in bytes from the first: however much comes at once, files keep their size. */
  #fileEnds: number[] = []
  /** Bytes of the last file, as it will be with all pending whole blocks that are to go there. */
  #fileBytes = 0
  /** Bytes since the last end of a block, written or not. */
  #openBytes = 0
  /** The number of the record that follows the last end of a block. */
  #wholeSequence = 0n
  /** Whether what was written after the last end of a block is to be taken back. */
  #takesBack = false
  #writing: Promise<void> | null = null
  #wake: (() => void)[] = []
  #closed = false

  constructor(options: EventBufferOptions) {
    this.#options = options
    mkdirSync(options.folder, PRIVATE_FOLDER)
    if (options.archive !== null) mkdirSync(options.archive, PRIVATE_FOLDER)
    for (const number of fileNumbers(options.folder)) {
      const path = join(options.folder, fileName(number))
      this.#files.push({ path, number, safeBytes: statSync(path).size, ended: true })
    }
    const taken = [
      options.archive === null ? 0 : (fileNumbers(options.archive).at(-1) ?? 0),
      this.#files.at(-1)?.number ?? 0,
      options.follower?.lastNumber ?? 0,
    ]
    this.#nextNumber = Math.max(...taken) + 1
  }

  /** Looks again how long the files are that an earlier process has left. */
  refresh(): void {
    for (const file of this.#files) {
      if (!file.ended) continue
      file.safeBytes = statSync(file.path).size
      this.#options.follower?.opened(file.number, file.path)
      this.#options.follower?.grown(file.number, file.safeBytes)
    }
  }

  /** The files that an earlier process has left. */
  get paths(): string[] {
    return this.#files.map(({ path }) => path)
  }

  /** Bytes on disk that are not released yet. */
  get bytes(): number {
    return this.#files.reduce((sum, { safeBytes }) => sum + safeBytes, 0)
  }

  /** Bytes in memory, not on disk yet. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /** Where reading begins. */
  get start(): BufferPosition {
    return { file: this.#files[0]?.number ?? 0, offset: 0 }
  }

  /** Takes an event; `isWhole` lets it and all before it be flushed to disk, and then read: no block is open. */
  append(event: Buffer, isWhole: boolean): void {
    const header = Buffer.allocUnsafe(RECORD_HEADER_BYTES)
    header.writeUInt32BE(event.length + 8, 0)
    header.writeBigUInt64BE(this.#sequence++, 4)
    this.#pending.push(header, event)
    this.#pendingBytes += header.length + event.length
    this.#openBytes += header.length + event.length
    if (isWhole) {
      this.#fileBytes += this.#openBytes
      this.#openBytes = 0
      this.#pendingWhole = this.#pendingBytes
      if (this.#fileBytes >= this.#options.maxFileBytes) {
        this.#fileEnds.push(this.#pendingWhole)
        this.#fileBytes = 0
      }
      this.#wholeSequence = this.#sequence
    }
    this.#startWriting()
  }

  /** Takes back what has come after the last end of a block: it has not been read, and never will be. */
  dropOpenBlock(): void {
    this.#sequence = this.#wholeSequence
    this.#openBytes = 0
    // Where an end of a block is still to be written, all that is written belongs to that block or to one before.
    if (this.#pendingWhole === 0) this.#takesBack = true
    const whole = Buffer.concat(this.#pending, this.#pendingBytes).subarray(0, this.#pendingWhole)
    this.#pending = whole.length === 0 ? [] : [whole]
    this.#pendingBytes = whole.length
    this.#startWriting()
  }

  #startWriting(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null
    })
  }

  /** Resolves once everything appended is on disk. */
  async drained(): Promise<void> {
    while (this.#writing !== null) await this.#writing
  }

  /**
   * The next piece from a position on; waits for one where there is none. Null once the buffer is closed and
   * `signal` is aborted.
   */
  async read(from: BufferPosition, maxBytes: number, signal: AbortSignal): Promise<BufferPiece | null> {
    while (!signal.aborted) {
      const file = this.#files.find(({ number }) => number >= from.file)
      const offset = file === undefined || file.number > from.file ? 0 : from.offset
      if (file !== undefined && (offset < file.safeBytes || file.ended)) {
        const bytes = await readRange(file.path, offset, Math.min(maxBytes, file.safeBytes - offset))
        const end = offset + bytes.length
        const lastOfFile = file.ended && end >= file.safeBytes
        return {
          path: file.path,
          file: file.number,
          offset,
          bytes,
          lastOfFile,
          next: lastOfFile ? { file: file.number + 1, offset: 0 } : { file: file.number, offset: end },
        }
      }
      await this.#woken(signal)
    }
    return null
  }

  /** Whether everything that is safe on disk lies before a position. */
  isAtEnd(position: BufferPosition): boolean {
    const last = this.#files.findLast(({ number }) => number >= position.file)
    return last === undefined || (last.number === position.file && position.offset >= last.safeBytes)
  }

  /** Lets go of the files before a position, or of all in a closed buffer: everything in them is committed. */
  release(before: BufferPosition | null = null): void {
    const isReleased = ({ number, ended }: BufferFile) => ended && (before === null || number < before.file)
    while (this.#files[0] !== undefined && isReleased(this.#files[0])) {
      const { path } = this.#files.shift()!
      const { archive } = this.#options
      if (archive === null) rmSync(path, { force: true })
      else renameSync(path, join(archive, path.slice(path.lastIndexOf('lyra-buffer-'))))
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.drained()
    const last = this.#files.at(-1)
    if (this.#handle !== null && last !== undefined) await this.#endFile(last)
  }

  async #writeAll(): Promise<void> {
    while (this.#pendingBytes > 0 || this.#takesBack) {
      if (this.#takesBack) {
        this.#takesBack = false
        await this.#takeBack()
        continue
      }
      const [fileEnd] = this.#fileEnds
      const whole = fileEnd ?? this.#pendingWhole
      const all =
        this.#pending.length === 1 ? this.#pending[0]! : Buffer.concat(this.#pending, this.#pendingBytes)
      const bytes = whole > 0 ? all.subarray(0, whole) : all
      // What follows may belong to the next file.
      this.#pending = bytes.length === all.length ? [] : [all.subarray(whole)]
      this.#pendingBytes = all.length - bytes.length
      this.#pendingWhole = Math.max(0, this.#pendingWhole - whole)
      this.#fileEnds = this.#fileEnds.slice(1).map((end) => end - whole)
      await this.#untilDone(async () => {
        this.#handle ??= await this.#openFile()
        await writeFully(this.#handle, bytes, this.#writtenBytes)
        if (whole > 0) await this.#handle.datasync()
      })
      this.#writtenBytes += bytes.length
      if (whole === 0) continue
      const file = this.#files.at(-1)!
      file.safeBytes = this.#writtenBytes
      this.#options.follower?.grown(file.number, file.safeBytes)
      if (fileEnd !== undefined) await this.#endFile(file)
      for (const wake of this.#wake.splice(0)) wake()
    }
  }

  /** Shortens the file to its last end of a block. */
  async #takeBack(): Promise<void> {
    const file = this.#files.at(-1)
    if (this.#handle === null || file === undefined) return
    const { safeBytes } = file
    await this.#untilDone(async () => this.#handle!.truncate(safeBytes))
    this.#writtenBytes = safeBytes
  }

  /** A full disk holds the core up, and loses nothing; what is half written is written again. */
  async #untilDone(write: () => Promise<void>): Promise<void> {
    let noticed = false
    for (;;) {
      try {
        await write()
        if (noticed) this.#options.onNotice('the event buffer can be written again')
        return
      } catch (error) {
        if (
          !['ENOSPC', 'EDQUOT', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '') ||
          this.#closed
        ) {
          throw error
        }
        if (this.#options.follower?.makeRoom(new Set(this.#files.map(({ number }) => number)))) continue
        if (!noticed) {
          this.#options.onNotice(
            `the event buffer cannot be written (${(error as Error).message}); the core has to wait. Make space in ${this.#options.folder}`,
          )
        }
        noticed = true
        await sleep(DISK_FULL_WAIT_MS)
      }
    }
  }

  async #openFile(): Promise<FileHandle> {
    const number = this.#nextNumber++
    const path = join(this.#options.folder, fileName(number))
    const handle = await open(path, 'w', PRIVATE_FILE)
    syncFolder(this.#options.folder)
    this.#options.follower?.opened(number, path)
    this.#files.push({ path, number, safeBytes: 0, ended: false })
    this.#writtenBytes = 0
    return handle
  }

  async #endFile(file: BufferFile): Promise<void> {
    await this.#handle?.close()
    this.#handle = null
    file.ended = true
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

/** The name of a buffer file. */
export function fileName(number: number): string {
  return `lyra-buffer-${String(number).padStart(16, '0')}.bevt`
}

/** The numbers of the buffer files in a folder, ascending. */
export function fileNumbers(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => Number(FILE_NAME.exec(name)?.[1] ?? Number.NaN))
    .filter((number) => !Number.isNaN(number))
    .sort((a, b) => a - b)
}

/** A new file's name is safe once its folder is. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

async function writeFully(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

/** Bytes of a file, fewer where it ends before. */
export async function readRange(path: string, offset: number, length: number): Promise<Buffer> {
  const handle = await open(path, 'r')
  try {
    const bytes = Buffer.allocUnsafe(length)
    const { bytesRead } = await handle.read(bytes, 0, length, offset)
    return bytes.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}
