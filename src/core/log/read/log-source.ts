import type { LogHead } from '../files/log-head.ts'
import type { ReceiverFile } from '../files/receiver-file.ts'
import type { SegmentName } from '../files/segment-name.ts'

/** The file of a segment. */
export type SegmentFile = { segment: SegmentName; name: string; bytes: number }

/** What a log consists of, as last seen. */
export type LogContents = {
  /** Null if there is none yet. */
  readonly head: LogHead | null
  /** By number. */
  readonly files: readonly SegmentFile[]
  /** Why the log cannot be read: the code of the error, or what it is and what to do; null while it can be. Public. */
  readonly fault: string | null
}

/** A log, or a segment of it, cannot be read at the moment: why, and what to do. The message is public: it has no address. */
export class LogUnreachableError extends Error {
  override name = 'LogUnreachableError'
}

/**
 * Whether an error is a fault of reading a log, which may pass: the disk's, or a web server's; others are mistakes, or a later
 * version.
 */
export function isReadFault(error: unknown): error is NodeJS.ErrnoException {
  if (error instanceof LogUnreachableError) return true
  const { code } = error as NodeJS.ErrnoException
  // Node's own errors, of wrong arguments for example, have codes that begin so.
  return code !== undefined && !code.startsWith('ERR_')
}

/** Where an event log is read from: all that differs between a folder and a URL. */
export type LogSource = {
  /** What the log is called in messages for the operator. */
  readonly name: string
  /** The folder in which readers note how far they are; null for a URL: such a log knows no readers. */
  readonly folder: string | null
  /** Whether the log has not answered yet, and may still do so. */
  readonly isAwaited: boolean
  /**
   * What is there now, as far as this is known at once; another object if anything of it may have changed.
   *
   * @throws {NewerLogError} in a folder, when the head is of a later version. At a URL that is a fault.
   */
  look(): LogContents
  /**
   * A file that was listed is not there: resolves once the names were read again, all of them in a folder. Throws a
   * LogUnreachableError if a URL does not answer.
   */
  listAgain(missing: SegmentFile['name']): Promise<void>
  /** The state of the receiver that writes the log, as last written; null if there is none. */
  receiver(): ReceiverFile | null
  /**
   * Reads bytes of a segment's file, which are there.
   *
   * @throws an error with the code ENOENT if there is no such file (any more).
   * @throws the disk's error, or at a URL a {@link LogUnreachableError}.
   */
  read(name: string, offset: number, length: number): Promise<Buffer>
  /**
   * Calls back when the log may have changed, until the returned function is called. A URL is looked at regularly only between
   * the two.
   */
  watch(onChange: () => void): () => void
}
