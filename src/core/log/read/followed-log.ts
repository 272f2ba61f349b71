import { isEarlierHead, type LogHead } from '../files/log-head.ts'
import type { ReceiverFile } from '../files/receiver-file.ts'
import type { LogContents, LogSource, SegmentFile } from './log-source.ts'

/** A segment of a log, as far as it may be read. */
export type LogSegment = {
  log: FollowedLog
  number: number
  first: bigint
  last: bigint
  /** `incomplete`: one block, of which events are missing. */
  kind: 'sealed' | 'incomplete' | 'active'
  /** Name of its file. */
  name: string
  /** Of the active one, the committed length; of others, the size of their file. */
  bytes: number
  /** How often the log had gone back by then: it was deleted, or restored from a copy, and has other bytes under its names. */
  restarts: number
}

/** Whether two are the same segment, of which one may have grown. */
export function isSameSegment(one: LogSegment, other: LogSegment): boolean {
  if (one.log !== other.log || one.restarts !== other.restarts) return false
  return one.number === other.number && one.first === other.first
}

/** Whether a segment is still there, and its log can be read at the moment. */
export function isReachable(segment: LogSegment): boolean {
  return segment.log.fault === null && segment.log.current(segment) !== null
}

/** Whether a segment that is being written was read up to its last whole block, as far as that is known. */
export function isReadToEnd({ kind, bytes }: LogSegment, offset: number): boolean {
  return kind === 'active' && offset >= bytes
}

/** How far a segment was read: everything before an offset, in bytes. */
export type SegmentOffset = { segment: LogSegment; offset: number }

/** An event log as its readers see it, wherever it is. */
export class FollowedLog {
  readonly #source: LogSource
  #contents: LogContents = { head: null, files: [], fault: null }
  #sealed: readonly LogSegment[] = []
  #sealedByNumber = new Map<number, LogSegment>()
  #active: LogSegment | null = null
  #restarts = 0
  /** The last head that there was. */
  #lastHead: LogHead | null = null

  constructor(source: LogSource) {
    this.#source = source
  }

  /** What it is called in messages for the operator: its folder, or its URL. */
  get name(): string {
    return this.#source.name
  }

  /** The folder in which its readers note how far they are; null if it is followed by its URL. */
  get folder(): string | null {
    return this.#source.folder
  }

  /** Whether it has not answered yet, and may still do so: nobody knows where it begins. */
  get isAwaited(): boolean {
    return this.#source.isAwaited
  }

  /** The head as last read; null if there is none yet. */
  get head(): LogHead | null {
    return this.#contents.head
  }

  /** The chain of its events, as the last head said; null if none has said it yet. */
  get chainId(): string | null {
    return this.#lastHead?.chainId ?? null
  }

  /** Why it cannot be read; null while it can be. The text is public. */
  get fault(): string | null {
    return this.#contents.fault
  }

  /** The segments that never change again, by number; the same list until there are others. */
  get sealed(): readonly LogSegment[] {
    return this.#sealed
  }

  /** The segment that is being written; null if it has no whole block yet. */
  get active(): LogSegment | null {
    return this.#active
  }

  /** All segments: the sealed ones, then the active one. */
  get segments(): readonly LogSegment[] {
    return this.#active === null ? this.#sealed : [...this.#sealed, this.#active]
  }

  /** The state of the receiver that writes it, as last written; null if there is none. */
  receiver(): ReceiverFile | null {
    return this.#source.receiver()
  }

  /** A segment as it is now: it may have grown, or be sealed. Null if it is gone. */
  current(segment: LogSegment): LogSegment | null {
    const active = this.#active
    if (active !== null && isSameSegment(active, segment)) return active
    const sealed = this.#sealedByNumber.get(segment.number)
    return sealed !== undefined && isSameSegment(sealed, segment) ? sealed : null
  }

  /**
   * Looks at the log again.
   *
   * @throws {NewerLogError} when its head is of a later version.
   */
  refresh(): void {
    const contents = this.#source.look()
    if (contents === this.#contents) return
    const { head, files, fault } = contents
    // Without a head, a log was deleted, unless it cannot be read.
    const last = this.#lastHead
    const isOther =
      head === null ? this.head !== null && fault === null : last !== null && isEarlierHead(head, last)
    if (isOther) this.#restarts++
    if (head !== null) this.#lastHead = head
    if (isOther || files !== this.#contents.files) this.#takeSealed(files)
    this.#active = head === null ? null : this.#activeOf(head, files)
    this.#contents = contents
  }

  /**
   * Reads bytes of a segment's file.
   *
   * @throws the disk's error; ENOENT if there is no such file (any more), also at a URL.
   * @throws {LogUnreachableError} if a web server does not give them.
   */
  read({ name }: LogSegment, offset: number, length: number): Promise<Buffer> {
    return this.#source.read(name, offset, length)
  }

  /**
   * The file of a segment is not there: looks at the log again, names included.
   *
   * @throws {LogUnreachableError} if a web server does not answer.
   */
  async listAgain({ name }: LogSegment): Promise<void> {
    try {
      await this.#source.listAgain(name)
    } finally {
      this.refresh()
    }
  }

  /** Calls back when the log may have changed, as {@link LogSource}. */
  watch(onChange: () => void): () => void {
    return this.#source.watch(onChange)
  }

  #takeSealed(files: readonly SegmentFile[]): void {
    const restarts = this.#restarts
    const sealed = files.flatMap(({ segment, name, bytes }): LogSegment[] => {
      if (segment.kind === 'open') return []
      const { number, first, last, kind } = segment
      return [{ log: this, number, first, last, kind, name, bytes, restarts }]
    })
    if (areSame(this.#sealed, sealed)) return
    this.#sealed = sealed
    this.#sealedByNumber = new Map(sealed.map((segment) => [segment.number, segment]))
  }

  /** The segment of the head; of other open ones nothing may be read yet. */
  #activeOf(head: LogHead, files: readonly SegmentFile[]): LogSegment | null {
    const { number, last, bytes } = head
    // A log may have thousands of files, of which this is one of the last.
    const open = files.findLast(({ segment }) => segment.kind === 'open' && segment.number === number)
    if (open === undefined || last === null) return null
    const { segment, name } = open
    const { first } = segment
    return { log: this, number, first, last, kind: 'active', name, bytes, restarts: this.#restarts }
  }
}

/** Whether two lists are of the same files of the same size. */
function areSame(some: readonly LogSegment[], others: readonly LogSegment[]): boolean {
  if (some.length !== others.length) return false
  return some.every(({ name, bytes, restarts }, index) => {
    const other = others[index]!
    return name === other.name && bytes === other.bytes && restarts === other.restarts
  })
}
