import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { PlainError } from '#core/domain/plain-error'

/** A folder in which a temporary file of the required size cannot be created. */
export class TemporaryFileError extends PlainError {
  override name = 'TemporaryFileError'

  constructor(fault: string, cause?: unknown) {
    super(`${fault}; name another folder with --temp`, { cause })
  }
}

/**
 * Opens a new file without a name, so that its disk space is free when this program ends, in whatever way.
 *
 * @throws {TemporaryFileError} for a folder in which no file can be created.
 */
export function openUnnamed<Opened>(folder: string, open: (path: string) => Opened): Opened {
  return withDiskErrors(folder, () => {
    const own = mkdtempSync(join(folder, 'lyra-'))
    try {
      return open(join(own, 'temporary.db'))
    } finally {
      rmSync(own, { recursive: true, force: true })
    }
  })
}

/**
 * Announces how large a temporary file may become.
 *
 * @param use its purpose: `rows are sorted`
 * @param bytes null if unknown
 *
 * @throws {TemporaryFileError} if its folder has less space.
 */
export function announceSize(
  folder: string,
  use: string,
  bytes: number | null,
  onNotice: (message: string) => void = () => {},
): void {
  const { bavail, bsize } = withDiskErrors(folder, () => statfsSync(folder))
  const free = bavail * bsize
  const megabytes = (size: number) => `${Math.ceil(size / 1e6)} MB`
  if (bytes !== null && bytes > free) {
    throw new TemporaryFileError(
      `${use} in ${folder}, which may take ${megabytes(bytes)} of disk, but ${megabytes(free)} are free`,
    )
  }
  onNotice(`${use} in ${folder}${bytes === null ? '' : `, which takes up to ${megabytes(bytes)} of disk`}`)
}

/**
 * Runs work on a temporary file. Errors of the disk and the database become a {@link TemporaryFileError}; others are
 * unchanged.
 */
export function withDiskErrors<T>(folder: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { errcode, code, message } = error as { errcode?: number; code?: string; message: string }
    const isConstraint = errcode !== undefined && (errcode & 0xff) === 19
    if (isConstraint || (errcode === undefined && code === undefined)) throw error
    throw new TemporaryFileError(`no temporary file can be written in ${folder} (${message})`, error)
  }
}
