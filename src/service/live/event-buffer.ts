import {
  closeSync,
  existsSync,
  fdatasync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { flushFile, flushFolder, makeFolder } from '#core/concurrency/flush'
import { RECORD_HEADER_BYTES } from '#core/records/record-framer'

const flush = promisify(fdatasync)

const FILE_NAME = /^lyra-buffer-(\d{16})\.bevt$/

/** How long a write waits before it is tried again if the disk is full, in milliseconds. */
const DISK_FULL_WAIT_MS = 1_000

/** Bytes that are read or written again at a time. */
export const PIECE_BYTES = 1024 * 1024

/** Received events are readable by the operator only. */
export const PRIVATE_FOLDER = 0o700
export const PRIVATE_FILE = 0o600

export type EventBufferOptions = {
  folder: string
  /** Folder for committed files; null: they are deleted. */
  archive: string | null
  /** A file of this size is followed by another one, at the next end of a block. */
  maxFileBytes: number
  log: Logger
  /** Called with each file as far as it is safe on disk: when that grows, and once nothing more is written to it. */
  onFile?: (file: SafeFile) => void
  /** Keeps files after the buffer has released them; null: they are deleted. */
  follower?: BufferFollower | null
}

/** Keeps the files of a buffer for another reader. It handles its own faults and never throws. */
export type BufferFollower = {
  /** Greatest number of a kept file; 0 if there is none. */
  lastNumber: number
  /** A file was created, and will be written to its end. */
  opened(number: number, path: string): void
  /** So many bytes of a file are safe on disk, and may be read. */
  grown(number: number, safeBytes: number): void
  /** The disk is full: deletes a file that the buffer itself no longer needs; false if there is none. */
  makeRoom(heldByBuffer: ReadonlySet<number>): boolean
}

/** A file of the buffer. */
type BufferFile = {
  path: string
  number: number
  /** Bytes that are safe on disk, and may be read. */
  safeBytes: number
  /** Bytes written, and bytes up to the last end of a block. */
  writtenBytes: number
  wholeBytes: number
  /** Null once nothing more is written to it. */
  descriptor: number | null
  /** Whether the next block goes to another file. */
  isFull: boolean
}

/** The bytes of a buffer file that are safe on disk; `isEnded`: no more are written. */
export type SafeFile = { number: number; path: string; safeBytes: number; isEnded: boolean }

/** A place to read from: the number of a file, and an offset in it. */
export type BufferPosition = { file: number; offset: number }

/** A piece of the buffer: its file, and the start of the next piece. */
export type BufferPiece = {
  path: string
  file: number
  offset: number
  bytes: Buffer
  next: BufferPosition
  lastOfFile: boolean
}

/**
 * An append-only buffer of event files on disk, between a core that sends everything once and a store that may be slow
 * or unreachable. Written events survive the process immediately, within a block too. They are flushed, and may be read, at
 * the end of each block. Files of an earlier process are flushed first: if that was killed, some of their bytes may be in
 * the system's memory alone.
 *
 * @throws the error of a disk that cannot flush these.
 */
export function createEventBuffer(options: EventBufferOptions) {
  const { folder, archive, maxFileBytes, log, onFile, follower } = options
  /** Why the disk accepts no writes, without the folder's name; null while it does. */
  let fault: string | null = null
  const files: BufferFile[] = []
  let sequence = 0n
  /** The number of the record that follows the last end of a block. */
  let wholeSequence = 0n
  let pending: Buffer[] = []
  let pendingBytes = 0
  /** Pending bytes up to the last end of a block among them. */
  let pendingWhole = 0
  /** Whether everything after the last end of a block is to be removed. */
  let mustTruncate = false
  /** While the disk accepts no writes. */
  let blocked: Promise<void> | null = null
  let flushing: Promise<void> | null = null
  /** The position up to which everything is committed. */
  let committed: BufferPosition = { file: 0, offset: 0 }
  let isClosed = false

  if (archive !== null) {
    makeFolder(archive, PRIVATE_FOLDER)
    flushFolder(archive)
  }
  flushFolder(folder)
  for (const number of fileNumbers(folder)) {
    const path = bufferPath(folder, number)
    flushFile(path)
    const file = newFile(number, path, null, statSync(path).size)
    files.push(file)
    follower?.opened(number, path)
    tell(file)
  }
  /** Numbers only rise: a position in a released file must not mean one in a later file. */
  let lastNumber = Math.max(
    archive === null ? 0 : (fileNumbers(archive).at(-1) ?? 0),
    files.at(-1)?.number ?? 0,
    follower?.lastNumber ?? 0,
  )

  function tell({ number, path, safeBytes, descriptor }: BufferFile): void {
    follower?.grown(number, safeBytes)
    onFile?.({ number, path, safeBytes, isEnded: descriptor === null })
  }

  /** Takes an event, to be written by {@link write}, whose bytes stay until then; `isWhole`: no block is open after it. */
  function append(event: Buffer, isWhole: boolean): void {
    const header = Buffer.allocUnsafe(RECORD_HEADER_BYTES)
    header.writeUInt32BE(event.length + 8, 0)
    header.writeBigUInt64BE(sequence++, 4)
    pending.push(header, event)
    pendingBytes += header.length + event.length
    if (!isWhole) return
    pendingWhole = pendingBytes
    wholeSequence = sequence
    const file = openFile()
    if ((file?.writtenBytes ?? 0) + pendingBytes < maxFileBytes) return
    write()
    if (pendingBytes === 0) openFile()!.isFull = true
  }

  /**
   * Writes the queued events. Returns null, or a promise that resolves once a full disk has space again, or a slow one
   * has flushed all but one file.
   */
  function write(): Promise<void> | null {
    try {
      if (blocked === null) writePending()
    } catch (error) {
      void blockUntilDone(error, () => writePending())
    }
    // The memory of events is the caller's.
    if (pendingBytes > 0) pending = [Buffer.concat(pending, pendingBytes)]
    if (blocked !== null) return blocked
    const open = files.filter(({ descriptor }) => descriptor !== null)
    return open.length > 1 ? flushing : null
  }

  /** Removes everything after the last end of a block: it has not been read, and never will be. */
  function dropOpenBlock(): void {
    sequence = wholeSequence
    // Where an end of a block is still to be written, all that is written belongs to that block or to one before.
    if (pendingWhole === 0) mustTruncate = true
    const whole = Buffer.concat(pending, pendingBytes).subarray(0, pendingWhole)
    pending = [whole]
    pendingBytes = whole.length
    write()
  }

  /** Everything before a position is committed: releases the files before it, or all files of a closed buffer. */
  function release(before: BufferPosition): void {
    committed = before
    const isReleased = ({ number, safeBytes, descriptor }: BufferFile) =>
      descriptor === null &&
      (number < before.file || (isClosed && number === before.file && safeBytes <= before.offset))
    const released: BufferFile[] = []
    while (files[0] !== undefined && isReleased(files[0])) released.push(files.shift()!)
    if (released.length === 0) return
    if (archive === null) {
      for (const { path } of released) rmSync(path, { force: true })
      return
    }
    // Its folder may have been deleted with the files that were in it.
    makeFolder(archive, PRIVATE_FOLDER)
    for (const { path, number } of released) renameSync(path, bufferPath(archive, number))
    flushFolder(archive)
  }

  /** Flushes everything, the block that is open too. */
  async function close(): Promise<void> {
    isClosed = true
    while (blocked !== null) await blocked
    const file = openFile()
    if (file !== null) {
      file.wholeBytes = file.writtenBytes
      file.isFull = true
      startFlushing()
    }
    while (flushing !== null) await flushing
  }

  /** The file that is being written to; null if the next block begins one. */
  function openFile(): BufferFile | null {
    const last = files.at(-1)
    return last?.isFull === false ? last : null
  }

  function writePending(): void {
    if (mustTruncate) {
      const file = openFile()
      if (file !== null) {
        ftruncateSync(file.descriptor!, file.wholeBytes)
        file.writtenBytes = file.wholeBytes
      }
      mustTruncate = false
    }
    if (pendingBytes === 0) return
    const file = openFile() ?? createFile()
    // Small events go in one call; a large one is not copied for that.
    const pieces = pendingBytes > PIECE_BYTES ? pending : [Buffer.concat(pending, pendingBytes)]
    try {
      let end = file.writtenBytes
      for (const bytes of pieces) {
        for (let done = 0; done < bytes.length; )
          done += writeSync(file.descriptor!, bytes, done, bytes.length - done, end + done)
        end += bytes.length
      }
    } catch (error) {
      // A write cut short by a full disk is undone: it is repeated, or counts as never received.
      ftruncateSync(file.descriptor!, file.writtenBytes)
      throw error
    }
    if (pendingWhole > 0) file.wholeBytes = file.writtenBytes + pendingWhole
    file.writtenBytes += pendingBytes
    pending = []
    pendingBytes = 0
    pendingWhole = 0
    startFlushing()
  }

  function startFlushing(): void {
    flushing ??= flushAll().finally(() => {
      flushing = null
    })
  }

  async function flushAll(): Promise<void> {
    for (;;) {
      const file = files.find(
        ({ descriptor, safeBytes, wholeBytes, isFull }) =>
          descriptor !== null && (safeBytes < wholeBytes || isFull),
      )
      if (file === undefined) return
      const { wholeBytes } = file
      const descriptor = file.descriptor!
      await flush(descriptor).catch((error) =>
        blockUntilDone(error, () => {
          // After a failed flush the system counts the bytes as flushed, unless they are written again.
          rewrite(descriptor, file.safeBytes, wholeBytes)
          return flush(descriptor)
        }),
      )
      file.safeBytes = wholeBytes
      if (file.isFull && file.safeBytes === file.wholeBytes) {
        closeSync(descriptor)
        file.descriptor = null
      }
      tell(file)
    }
  }

  /** Writes nothing until an operation that the disk refused succeeds. */
  function blockUntilDone(error: unknown, again: () => void | Promise<void>): Promise<void> {
    const held = untilDone(error, again).finally(() => {
      if (blocked !== held) return
      blocked = null
      write()
    })
    blocked ??= held
    return held
  }

  /** While the disk is full nothing is read from the core, which keeps its events in memory. */
  async function untilDone(failed: unknown, again: () => void | Promise<void>): Promise<void> {
    let error = failed as NodeJS.ErrnoException | null
    for (let noticed = false; error !== null; ) {
      if (!['ENOSPC', 'EDQUOT', 'EIO'].includes(error.code ?? '')) throw error
      if (!follower?.makeRoom(new Set(files.map(({ number }) => number)))) {
        fault = `the event buffer cannot be written (${error.code}): free disk space for it`
        if (!noticed) log.error(`${fault}, ${folder}: ${error.message}`)
        noticed = true
        await sleep(DISK_FULL_WAIT_MS)
      }
      try {
        await again()
        error = null
        fault = null
        if (noticed) log.info('the event buffer can be written again')
      } catch (thrown) {
        error = thrown as NodeJS.ErrnoException
      }
    }
  }

  function createFile(): BufferFile {
    const number = ++lastNumber
    const path = bufferPath(folder, number)
    const descriptor = openSync(path, 'w+', PRIVATE_FILE)
    flushFolder(folder)
    follower?.opened(number, path)
    const file = newFile(number, path, descriptor, 0)
    files.push(file)
    return file
  }

  return {
    get fault(): string | null {
      return fault
    },
    /** Bytes that are not committed. */
    get bytes(): number {
      const { file, offset } = committed
      return files.reduce(
        (sum, { number, writtenBytes }) => sum + writtenBytes - (number === file ? offset : 0),
        pendingBytes,
      )
    },
    ...{ append, write, dropOpenBlock, release, close },
  }
}

export type EventBuffer = ReturnType<typeof createEventBuffer>

/** @param bytes those of an earlier process */
function newFile(number: number, path: string, descriptor: number | null, bytes: number): BufferFile {
  const isFull = descriptor === null
  return { path, number, safeBytes: bytes, writtenBytes: bytes, wholeBytes: bytes, descriptor, isFull }
}

/** The path of a buffer file. */
export function bufferPath(folder: string, number: number): string {
  return join(folder, `lyra-buffer-${String(number).padStart(16, '0')}.bevt`)
}

/** The numbers of the buffer files in a folder, ascending. */
export function fileNumbers(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => Number(FILE_NAME.exec(name)?.[1] ?? Number.NaN))
    .filter((number) => !Number.isNaN(number))
    .sort((a, b) => a - b)
}

function rewrite(descriptor: number, start: number, end: number): void {
  const piece = Buffer.allocUnsafe(Math.min(end - start, PIECE_BYTES))
  for (let at = start; at < end; ) {
    const bytes = readSync(descriptor, piece, 0, Math.min(piece.length, end - at), at)
    at += writeSync(descriptor, piece, 0, bytes, at)
  }
}

/** The paths of the buffer files in a folder, ascending; none if there is no folder. */
export function bufferPaths(folder: string): string[] {
  return existsSync(folder) ? fileNumbers(folder).map((number) => bufferPath(folder, number)) : []
}
