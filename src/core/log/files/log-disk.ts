import {
  closeSync,
  fchmodSync,
  fdatasync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { flushFolderMeanwhile } from '../../concurrency/flush.ts'

const flushData = promisify(fdatasync)

/** How long a write waits before it is tried again if the disk is full, in milliseconds. */
export const SPACE_WAIT_MS = 1_000

/** Received events are readable by the operator only. */
export const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600

/** A file that is open for writing. */
export type LogFile = {
  /** Writes all the bytes at an offset. An error leaves any part of them written. */
  write(bytes: Buffer, at: number): void
  /** Reads bytes from an offset on; fewer at the end of the file. */
  read(length: number, at: number): Buffer
  truncate(length: number): void
  /** Resolves once everything written is on disk. After an error, the system may count it as flushed although it is not. */
  flush(): Promise<void>
  close(): void
}

/**
 * What the event log needs of a file system. Tests give it a disk that loses power, is full or fails; errors are those of
 * Node, with their `code`.
 */
export type LogDisk = {
  /** The names in a folder; none if there is no such folder. One that cannot be read is an error: it may have any. */
  list(folder: string): string[]
  /** A file's size in bytes, and when it was last written, in Unix milliseconds; null if there is none. */
  stat(path: string): { bytes: number; changedAt: number } | null
  /** A small file's text; null if there is none, or it cannot be read. */
  readText(path: string): string | null
  /** Reads bytes of a file; fewer at its end. */
  read(path: string, offset: number, length: number): Promise<Buffer>
  /** Creates a file, or empties an existing one. */
  create(path: string): LogFile
  open(path: string): LogFile
  rename(from: string, to: string): void
  /** Deletes a file, if it is there. */
  remove(path: string): void
  /** Resolves once the names in a folder are on disk. */
  flushFolder(folder: string): Promise<void>
  /** The bytes of the file system of a folder, and how many are free. */
  space(folder: string): { freeBytes: number; totalBytes: number }
  /** Waits until a full disk may have space again, or one that failed may work. */
  untilSpace(): Promise<void>
}

/** The file system of the machine. */
export const NODE_DISK: LogDisk = {
  list: namesIn,
  stat: (path) => {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats === undefined ? null : { bytes: stats.size, changedAt: stats.mtimeMs }
  },
  readText: (path) => orNull(() => readFileSync(path, 'utf8')),
  read: readRange,
  create: (path) => fileOf(openSync(path, 'w+', PRIVATE_FILE)),
  open: (path) => fileOf(openSync(path, 'r+')),
  rename: renameSync,
  remove: (path) => rmSync(path, { force: true }),
  flushFolder: flushFolderMeanwhile,
  space: (folder) => {
    const { bavail, blocks, bsize } = statfsSync(folder)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  },
  untilSpace: () => sleep(SPACE_WAIT_MS),
}

/** The file system of the machine, with the mode of the files that it creates, whatever the umask is. */
export function diskWithMode(mode: number): LogDisk {
  const create = (path: string) => {
    const descriptor = openSync(path, 'w+', PRIVATE_FILE)
    fchmodSync(descriptor, mode)
    return fileOf(descriptor)
  }
  return { ...NODE_DISK, create }
}

function fileOf(descriptor: number): LogFile {
  return {
    write: (bytes, at) => {
      for (let done = 0; done < bytes.length; )
        done += writeSync(descriptor, bytes, done, bytes.length - done, at + done)
    },
    read: (length, at) => {
      const bytes = Buffer.allocUnsafe(length)
      return bytes.subarray(0, readSync(descriptor, bytes, 0, length, at))
    },
    truncate: (length) => ftruncateSync(descriptor, length),
    flush: () => flushData(descriptor),
    close: () => closeSync(descriptor),
  }
}

async function readRange(path: string, offset: number, length: number): Promise<Buffer> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)))
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, offset)
    return bytes.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** The result of a call of the file system; null if it fails. */
function orNull<T>(call: () => T): T | null {
  try {
    return call()
  } catch {
    return null
  }
}

/** The path of a file while its content is written, its draft: it gets its own name once that is whole. */
export function draftPath(path: string): string {
  return `${path}.new`
}

/** Whether a name is that of a draft. */
export function isDraft(name: string): boolean {
  return name.endsWith('.new')
}

/**
 * Replaces a small file: a process that is killed leaves the old text or the new one. It is not flushed, so a loss of power may
 * leave neither.
 */
export function replaceFile(disk: LogDisk, folder: string, name: string, text: string): void {
  const path = `${folder}/${name}`
  const file = disk.create(draftPath(path))
  try {
    writeText(file, text)
  } finally {
    file.close()
  }
  disk.rename(draftPath(path), path)
}

/**
 * As {@link replaceFile}, but a loss of power leaves the old text or the new one, too. Resolves once the new one is on disk. Until
 * then the file must not be replaced again: each call writes to the same draft.
 */
export async function replaceFileDurably(
  disk: LogDisk,
  folder: string,
  name: string,
  text: string,
): Promise<void> {
  const path = `${folder}/${name}`
  const file = disk.create(draftPath(path))
  try {
    writeText(file, text)
    await file.flush()
  } finally {
    file.close()
  }
  disk.rename(draftPath(path), path)
  await disk.flushFolder(folder)
}

/** Writes the whole text of a file. */
function writeText(file: LogFile, text: string): void {
  file.write(Buffer.from(text), 0)
}
