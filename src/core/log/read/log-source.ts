import type { LogHead } from '../log-head.ts'
import type { ReceiverFile } from '../receiver-file.ts'

/** A segment of a log, as far as it may be read. */
export type LogSegment = {
  log: LogSource
  number: number
  first: bigint
  last: bigint
  /** `part`: one block, of which events are missing. */
  kind: 'sealed' | 'part' | 'active'
  /** Name of its file. */
  name: string
  /** Of the active one, the committed length; of others, the size of their file. */
  bytes: number
}

/** Whether two are the same segment. A log that was deleted begins again with the first number, at another block. */
export function isSameSegment(one: LogSegment, other: LogSegment): boolean {
  return one.log === other.log && one.number === other.number && one.first === other.first
}

/** How far a segment was read: everything before an offset, in bytes. */
export type SegmentOffset = { segment: LogSegment; offset: number }

/** An event log as its readers see it. */
export type LogSource = {
  /** What the log is called in messages: its folder. */
  name: string
  /** The head as last read; null if there is none yet. */
  head: LogHead | null
  /** The segments as last read: the sealed ones by number, then the active one. */
  readonly segments: readonly LogSegment[]
  /** Those of them that never change again; the same list until there are others. */
  readonly sealed: readonly LogSegment[]
  /** The one that is being written; null if it has no whole block yet. */
  readonly active: LogSegment | null
  /** A segment as it is now: it may have grown, or be sealed. Null if it is gone. */
  current(segment: LogSegment): LogSegment | null
  /** Why the folder or its head cannot be read: the code of the error, or what it is; null while they can be. */
  readonly fault: string | null
  /** The state of the receiver that writes it, as last written; null if there is none. */
  receiver(): ReceiverFile | null
  /** Reads head and names again. */
  refresh(): void
  /**
   * Reads bytes of a segment, which are there; of a gzipped one, of what it inflates to.
   *
   * @throws {EventStreamError} for a gzipped one that is damaged.
   */
  read(segment: LogSegment, offset: number, length: number): Promise<Buffer>
  /** Calls back when the log may have grown, until the returned function is called. */
  watch(onChange: () => void): () => void
}
