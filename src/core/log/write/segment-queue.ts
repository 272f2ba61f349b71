import type { EventCheck, LoggedBlock } from '../event-check.ts'
import type { LogDisk } from '../files/log-disk.ts'
import { type LogHead, type PendingUpgrade, writeHead } from '../files/log-head.ts'
import { writeIndex } from '../files/log-index.ts'
import type { DiskRetries } from './disk-retries.ts'
import { OpenSegment } from './open-segment.ts'

/** Reading from the core pauses while so many segments are not on disk. */
const MAX_UNFLUSHED_SEGMENTS = 2

type SegmentQueueOptions = {
  disk: LogDisk
  /** Folder of the event log. */
  folder: string
  /** A segment of this size is followed by another one. */
  segmentBytes: number
  retries: DiskRetries
  /** Knows the chain of the log. */
  check: EventCheck
  /** The head with which the log begins; its number is that of the next segment. */
  head: LogHead
  listener: HeadListener
}

/** Who is told of heads. */
export type HeadListener = {
  /** The log has grown, or its head has changed: readers may have everything up to there. */
  onHead(head: LogHead): void
}

/**
 * The segments that are not sealed, in their order, and the head. Blocks that have ended are flushed, and only then named by the
 * head; a segment that has ended is flushed, renamed, named by the index, and only then followed in the head by the next one.
 */
export class SegmentQueue {
  readonly #options: SegmentQueueOptions
  /** The last one is appended to, unless it has ended. */
  readonly #segments: OpenSegment[] = []
  #nextNumber: number
  /** As it is on disk, or is to be written there. */
  #head: LogHead
  #isHeadDue = false
  #isIndexDue = true
  #committing: Promise<void> | null = null

  constructor(options: SegmentQueueOptions) {
    this.#options = options
    this.#head = options.head
    this.#nextNumber = options.head.number
  }

  get head(): LogHead {
    return this.#head
  }

  /** Bytes of the block that has begun and not ended. */
  get openBytes(): number {
    return this.#active?.openBytes ?? 0
  }

  /** The segment that is written to; null if the next block begins one. */
  get #active(): OpenSegment | null {
    const last = this.#segments.at(-1)
    return last?.isAppendable ? last : null
  }

  /** Resolves once nothing is left to commit; null if nothing is. */
  get committing(): Promise<void> | null {
    return this.#committing
  }

  /** Whether the disk is so slow that reading must pause. */
  get isBehind(): boolean {
    return this.#segments.length >= MAX_UNFLUSHED_SEGMENTS
  }

  /**
   * Takes the segments that an earlier process has left. The new head names 0 bytes of the one that goes on. If that has blocks,
   * such a head is never written: its blocks are committed first, which makes the head name them.
   */
  takeLeft(left: readonly OpenSegment[]): void {
    this.#segments.push(...left)
    this.#head = { ...this.#head, number: this.#active?.number ?? this.#head.number }
    this.#isHeadDue = true
  }

  /** Begins a block, in a new segment if the last one must end before it. */
  begin(block: LoggedBlock): void {
    const active = this.#active
    if (active !== null && !active.mustEndBefore(block, this.#options.segmentBytes)) return
    if (active !== null) {
      active.endWriting('committed')
      this.commit()
    }
    const { disk, folder } = this.#options
    this.#add(OpenSegment.create({ disk, folder, number: this.#nextNumber, first: block.height }))
  }

  /** Writes events of the block that has begun, in one call. */
  append(events: readonly Buffer[]): void {
    this.#begun().append(events)
  }

  /** The block that has begun has ended, and is whole. */
  end(block: LoggedBlock): void {
    this.#begun().endBlock(block)
    this.commit()
  }

  /** Takes back the block that has begun, if any. */
  cutOpenBlock(): void {
    this.#active?.cutOpenBlock()
  }

  /** Gives the open block, which has ended with events missing, a segment of its own. */
  setApart(block: LoggedBlock): void {
    const active = this.#begun()
    if (active.last === null) active.endIncomplete(block)
    else {
      this.#add(active.splitOff(block, this.#nextNumber))
      active.endWriting('committed')
    }
    this.commit()
  }

  /** Has the upgrade in the next head. */
  announce(upgrade: PendingUpgrade): void {
    if (this.#head.upgrade?.height === upgrade.height) return
    this.#head = { ...this.#head, upgrade }
    this.#isHeadDue = true
    this.commit()
  }

  /** Has the index written again, if the sealed segments are others now. */
  renewIndex(): void {
    this.#isIndexDue = true
    this.commit()
  }

  /** Commits in the background what has ended, and seals the segments to which nothing is appended any more. */
  commit(): void {
    this.#committing ??= this.#commitAll()
      .catch((error: Error) => this.#options.retries.fail(error))
      .finally(() => {
        this.#committing = null
      })
  }

  /** Nothing more is written. */
  close(): void {
    for (const segment of this.#segments.splice(0)) segment.close()
  }

  /** @throws if no block has begun. */
  #begun(): OpenSegment {
    const active = this.#active
    if (active === null) throw new Error('events are written before a block has begun')
    return active
  }

  #add(segment: OpenSegment): void {
    this.#segments.push(segment)
    this.#nextNumber = segment.number + 1
  }

  async #commitAll(): Promise<void> {
    for (;;) {
      if (this.#isIndexDue) await this.#writeIndex()
      const segment = this.#segments[0]
      const end = segment?.uncommittedEnd ?? null
      if (end !== null) await this.#commitBlocks(segment!, end)
      else if (segment !== undefined && !segment.isAppendable) {
        await this.#seal(segment)
        this.#segments.shift()
      } else if (this.#isHeadDue) await this.#setHead(this.#head)
      else return
    }
  }

  async #commitBlocks(
    segment: OpenSegment,
    { bytes, last }: { bytes: number; last: LoggedBlock },
  ): Promise<void> {
    await this.#options.retries.do(() => segment.flush())
    const { upgrade } = this.#head
    await this.#setHead({
      chainId: this.#options.check.pinned?.id ?? null,
      number: segment.number,
      first: segment.first,
      last: last.height,
      bytes,
      time: last.timestamp,
      upgrade: upgrade === null || last.height > upgrade.height ? null : upgrade,
    })
    segment.committed(bytes)
  }

  async #seal(segment: OpenSegment): Promise<void> {
    const { retries } = this.#options
    if (segment.finalHeight === null) {
      segment.close()
      await retries.do(() => segment.remove())
      return
    }
    await retries.do(() => segment.cutToSeal())
    await retries.do(() => segment.flush())
    await retries.do(() => segment.rename())
    segment.close()
    await this.#writeIndex()
    // Of segments that were left, the head may name a later one: it must not go back to 0 bytes of that.
    if (this.#head.number !== segment.number) return
    const next = this.#segments[1]?.number ?? this.#nextNumber
    await this.#setHead({ ...this.#head, number: next, first: null, last: null, bytes: 0 })
  }

  async #writeIndex(): Promise<void> {
    const { disk, folder, retries } = this.#options
    this.#isIndexDue = false
    await retries.do(() => writeIndex(disk, folder))
  }

  /** Writes the head, and tells the readers. An upgrade that is announced meanwhile makes another one due. */
  async #setHead(head: LogHead): Promise<void> {
    const { disk, folder, retries, listener } = this.#options
    this.#isHeadDue = false
    this.#head = head
    await retries.do(() => writeHead(disk, folder, this.#head))
    listener.onHead(this.#head)
  }
}
