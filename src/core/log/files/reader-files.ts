import { isHeight, parseJson } from '../../domain/shapes.ts'
import { type LogDisk, replaceFile } from './log-disk.ts'

export const READERS_NAME = 'readers'
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

/** How far a reader of a log has come, as it says itself in `readers/NAME.json`. */
export type ReaderFile = {
  name: string
  /** The last block that it has; null before the first. */
  height: bigint | null
  /** Time of that block, Unix nanoseconds; null if not known. */
  time: bigint | null
  /** Whether blocks that it has not read stay in the log: a store is required, a forwarder is not. */
  isRequired: boolean
  /** Of a forwarder: whether its receiver has all up to `height` that was to be sent, after an orderly end. */
  isClean: boolean
  /** Of a forwarder: the last block of the protocol upgrade that its receiver is ready for; null without one. */
  upgrade: bigint | null
}

/** The folder of the readers' files. */
export function readersFolder(folder: string): string {
  return `${folder}/${READERS_NAME}`
}

/** Whether a text may name a reader. */
export function isReaderName(name: string): boolean {
  return NAME.test(name)
}

/**
 * The readers that a log knows, by name. A file that cannot be read counts as a reader that has nothing.
 *
 * @throws the disk's error if it is not known which files there are.
 */
export function readReaders(disk: LogDisk, folder: string): ReaderFile[] {
  return disk
    .list(readersFolder(folder))
    .filter((file) => file.endsWith('.json') && isReaderName(file.slice(0, -5)))
    .sort()
    .map((file) => readReader(disk, folder, file.slice(0, -5)))
    .filter((reader) => reader !== null)
}

/** A reader's file; null if there is none. */
export function readReader(disk: LogDisk, folder: string, name: string): ReaderFile | null {
  const path = `${readersFolder(folder)}/${name}.json`
  const text = disk.readText(path)
  if (text === null && !mayExist(disk, path)) return null
  // A file that is no JSON counts as `{}`.
  const value: Record<string, unknown> = Object(parseJson(text ?? ''))
  return {
    name,
    height: heightOf(value.height),
    time: heightOf(value.time),
    // Nothing is deleted that it may need, unless it says that it can do without.
    isRequired: value.required !== false,
    isClean: value.clean === true,
    upgrade: heightOf(value.upgrade),
  }
}

/**
 * Replaces a reader's file. It is not flushed: after a loss of power it may say less than is true. On a full disk it is
 * overwritten, which needs no space: what the reader has read can only be deleted once the file says so.
 *
 * @throws the disk's error.
 */
export function writeReader(disk: LogDisk, folder: string, reader: ReaderFile): void {
  const { name, height, time, isRequired, isClean, upgrade } = reader
  const text = JSON.stringify({
    height: height === null ? null : `${height}`,
    ...(time !== null && { time: `${time}` }),
    required: isRequired,
    ...(!isRequired && { clean: isClean }),
    ...(upgrade !== null && { upgrade: `${upgrade}` }),
  })
  try {
    replaceFile(disk, readersFolder(folder), `${name}.json`, text)
  } catch (error) {
    const path = `${readersFolder(folder)}/${name}.json`
    const isFull = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')
    if (!isFull || disk.stat(path) === null) throw error
    overwrite(disk, path, text)
  }
}

function overwrite(disk: LogDisk, path: string, text: string): void {
  const file = disk.open(path)
  try {
    file.write(Buffer.from(text.padEnd(disk.stat(path)!.bytes)), 0)
  } finally {
    file.close()
  }
}

/** Whether there is a file, as far as this user may know. */
function mayExist(disk: LogDisk, path: string): boolean {
  try {
    return disk.stat(path) !== null
  } catch {
    return true
  }
}

/** Forgets a reader. */
export function removeReader(disk: LogDisk, folder: string, name: string): void {
  disk.remove(`${readersFolder(folder)}/${name}.json`)
}

function heightOf(value: unknown): bigint | null {
  return isHeight(value) ? BigInt(value) : null
}
