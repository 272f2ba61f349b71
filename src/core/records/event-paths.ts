import { readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { PlainError } from '../domain/plain-error.ts'

const EVENT_FILE_NAME = /\.(evts|evt|bevt)(\.gz)?$/i

/** One file of the input. */
export type EventPath = {
  path: string
  /** Bytes as stored; null if unknown (standard input, pipes). */
  bytes: number | null
  /**
   * For a file that another process is still writing: only `bytes` of it are read. It may have another name once its turn
   * comes.
   */
  growing?: { presentPath(): string }
}

/** Where a file is now. */
export function presentPathOf({ path, growing }: EventPath): string {
  return growing?.presentPath() ?? path
}

/**
 * The input that the command line names: files in the order of their names. They are read in the order of event-order.ts.
 */
export type EventInput = {
  files: EventPath[]
  /** Files in the named directories that do not have the names of event files; they are skipped. */
  foreign: string[]
}

/** What a folder has besides event files, if it is more than a folder of files. */
export type FolderContents = {
  /** Files that are read with the event files. */
  files: readonly EventPath[]
  /** Whether a name is the folder's own, and no foreign file. */
  isOwn(name: string): boolean
}

/** A path that cannot be read as event files. */
export class EventPathError extends PlainError {
  override name = 'EventPathError'
}

/** System error codes of an unreadable path. */
const PATH_CAUSES: Record<string, string> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'no such file or directory',
  EACCES: 'no permission to read it',
  EPERM: 'no permission to read it',
  EISDIR: 'is a directory',
  ELOOP: 'symbolic link loop',
  EIO: 'input/output error of the disk',
}

/** A path error for an error of the file system; other errors unchanged. */
export function explainPathError(path: string, error: unknown): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return error
  return new EventPathError(`${path}: ${PATH_CAUSES[code] ?? message}`, { cause: error })
}

function explainPathErrors<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw explainPathError(path, error)
  }
}

/**
 * Resolves paths: a file of any name, `-` for standard input, a directory for its event files (`.evts .evt .bevt`, each
 * also `.gz`) in name order, comparing numbers in names as numbers.
 *
 * @param contentsOf what else a folder has, by its names; null for a folder of files
 *
 * @throws {EventPathError} for a path that is missing or cannot be read, and a directory without event files.
 */
export function findEventFiles(
  paths: readonly string[],
  contentsOf: (folder: string, names: readonly string[]) => FolderContents | null = () => null,
): EventInput {
  const input: EventInput = { files: [], foreign: [] }
  for (const path of paths) {
    if (path === '-') {
      input.files.push({ path, bytes: null })
      continue
    }
    const stats = explainPathErrors(path, () => statSync(path))
    if (stats.isDirectory()) addDirectory(path, input, contentsOf)
    else input.files.push({ path, bytes: stats.isFile() ? stats.size : null })
  }
  return input
}

function addDirectory(
  directory: string,
  input: EventInput,
  contentsOf: (folder: string, names: readonly string[]) => FolderContents | null,
): void {
  const byName = new Intl.Collator('en', { numeric: true }).compare
  const names = explainPathErrors(directory, () => readdirSync(directory)).sort(byName)
  const before = input.files.length
  const contents = contentsOf(directory, names)
  for (const name of names) {
    const path = join(directory, name)
    const stats = statOrNull(path)
    if (stats?.isFile() && EVENT_FILE_NAME.test(name)) input.files.push({ path, bytes: stats.size })
    else if (contents?.isOwn(name) !== true) input.foreign.push(path)
  }
  for (const file of contents?.files ?? []) input.files.push(file)
  if (input.files.length === before) {
    throw new EventPathError(
      `${directory}: contains no event file (.evts, .evt, .bevt, or one of these with .gz)`,
    )
  }
}

/** Null if it does not exist, for example behind a dangling link. */
function statOrNull(path: string): Stats | null {
  try {
    return statSync(path)
  } catch {
    return null
  }
}
