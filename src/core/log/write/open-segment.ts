import { RECORD_HEADER_BYTES } from '../../records/record-framer.ts'
import type { LoggedBlock } from '../event-check.ts'
import { draftPath, type LogDisk, type LogFile } from '../files/log-disk.ts'
import { segmentName } from '../files/segment-name.ts'
import { PIECE_BYTES } from '../segment-frames.ts'

/** A part of a segment, from its beginning on. */
export type SegmentLength = { bytes: number; records: number }

/** Which segment a file is. */
type SegmentPlace = {
  disk: LogDisk
  /** Folder of the event log. */
  folder: string
  number: number
  /** Its first block. */
  first: bigint
}

/** A segment of an earlier process, and what that has written to it. */
type LeftSegment = SegmentPlace & {
  written: SegmentLength
  ended: SegmentLength
  last: LoggedBlock | null
  blockOne: Set<string>
}

const NOTHING: SegmentLength = { bytes: 0, records: 0 }

/**
 * The file of a segment that is not sealed. It has three lengths:
 *
 *     committed ≤ ended ≤ written
 *
 * `committed` is what the head names, `ended` the blocks that have ended, and `written` all events. `flushed` is how much of the
 * ended blocks is known to be on disk: at least `committed`, but for segments that have ended `uncommitted` or `damaged`.
 *
 * The calls have an order, of which only this is checked: nothing is written after the end, and a name has a height.
 *
 * 1. For each block `append`, then `endBlock`; or `cutOpenBlock` if it never ends.
 * 2. For blocks that have ended: `flush`; the head is written; `committed`.
 * 3. `endWriting`, after the last block. A block with events missing has `endIncomplete`, or `splitOff` to a segment of its own.
 * 4. Step 2 for the blocks that are left.
 * 5. `cutToSeal`, `flush`, `rename`, `close`. A segment without blocks: `close`, `remove`.
 */
export class OpenSegment {
  readonly number: number
  /** Its first block. */
  readonly first: bigint
  readonly #disk: LogDisk
  readonly #folder: string
  readonly #path: string
  readonly #file: LogFile
  #written = NOTHING
  #ended = NOTHING
  /** What the head names, or never needs to. */
  #committedBytes = 0
  /** What is known to be on disk, of the blocks which have ended. */
  #flushedBytes = 0
  #last: LoggedBlock | null = null
  /** The height at the end of the file's final name if none of its blocks can be read; null if there is none. */
  #heightWithoutBlocks: bigint | null = null
  /** The hashes of the parts of block 1. */
  #blockOne = new Set<string>()
  #kind: 'sealed' | 'incomplete' = 'sealed'
  /** Whether events may still be appended. */
  #isAppendable = true
  #isDamaged = false
  /** Whether the last flush has failed, or has not ended. */
  #isFlushOpen = false
  /** Whether the file's name is on disk. */
  #isNameFlushed = false

  private constructor(place: SegmentPlace, file: LogFile) {
    this.#disk = place.disk
    this.#folder = place.folder
    this.number = place.number
    this.first = place.first
    this.#path = pathOf(place)
    this.#file = file
  }

  /** Creates the file of a segment, which begins with a block. */
  static create(place: SegmentPlace): OpenSegment {
    return new OpenSegment(
      place,
      createFile(place, () => {}),
    )
  }

  /** Opens a segment of an earlier process. */
  static reopen(left: LeftSegment): OpenSegment {
    const segment = new OpenSegment(left, left.disk.open(pathOf(left)))
    segment.#written = left.written
    segment.#ended = left.ended
    segment.#last = left.last
    segment.#blockOne = left.blockOne
    return segment
  }

  /** The last block that has ended; null before the first. */
  get last(): LoggedBlock | null {
    return this.#last
  }

  /** The height at the end of the file's final name; null if it has no block, and is deleted instead. */
  get finalHeight(): bigint | null {
    return this.#last?.height ?? this.#heightWithoutBlocks
  }

  /** Whether events may still be appended. */
  get isAppendable(): boolean {
    return this.#isAppendable
  }

  /** Bytes of the block that has begun and not ended. */
  get openBytes(): number {
    return this.#written.bytes - this.#ended.bytes
  }

  /** The end of the last block, if that is not committed. A block of which events are missing never is. */
  get uncommittedEnd(): { bytes: number; last: LoggedBlock } | null {
    const isUncommitted = this.#kind === 'sealed' && this.#committedBytes < this.#ended.bytes
    return isUncommitted ? { bytes: this.#ended.bytes, last: this.#last! } : null
  }

  /** Whether a block that begins belongs to another segment. */
  mustEndBefore({ height, hash }: LoggedBlock, mostBytes: number): boolean {
    const last = this.#last
    if (last === null) return height !== this.first
    // Block 1 comes in two parts.
    if (last.height === 1n && height === 1n) return this.#blockOne.has(hash)
    if (height !== last.height + 1n) return true
    return this.#ended.bytes >= mostBytes
  }

  // Writing, and how it ends

  /** Writes events of the open block, in one call. */
  append(events: readonly Buffer[]): void {
    this.#checkAppendable()
    const pieces: Buffer[] = []
    let { bytes, records } = this.#written
    for (const event of events) {
      pieces.push(headerOf(this.number, records, event.length), event)
      bytes += RECORD_HEADER_BYTES + event.length
      records++
    }
    this.#file.write(Buffer.concat(pieces, bytes - this.#written.bytes), this.#written.bytes)
    this.#written = { bytes, records }
  }

  /** The open block has ended, and is whole. */
  endBlock(block: LoggedBlock): void {
    this.#checkAppendable()
    this.#ended = this.#written
    this.#last = block
    if (block.height === 1n) this.#blockOne.add(block.hash)
  }

  #checkAppendable(): void {
    if (!this.#isAppendable) throw new Error(`segment ${this.number} has ended`)
  }

  /** The open block, its only one, has ended with events missing. */
  endIncomplete(block: LoggedBlock): void {
    this.#ended = this.#written
    this.#last = block
    this.#kind = 'incomplete'
    this.#isAppendable = false
  }

  /** Moves the open block, which has ended with events missing, to a segment of its own. */
  splitOff(block: LoggedBlock, number: number): OpenSegment {
    const { bytes, records } = this.#ended
    const place = { disk: this.#disk, folder: this.#folder, number, first: block.height }
    const file = createFile(place, (to) => copyBytes(this.#file, bytes, this.#written.bytes, to, 0))
    const apart = new OpenSegment(place, file)
    apart.#written = { bytes: this.#written.bytes - bytes, records: this.#written.records - records }
    apart.endIncomplete(block)
    this.#written = this.#ended
    return apart
  }

  /** Takes back the open block. */
  cutOpenBlock(): void {
    this.#file.truncate(this.#ended.bytes)
    this.#written = this.#ended
  }

  /**
   * Nothing more is appended. How it ends says when it is sealed:
   *
   * - `committed`: once the head names the end of its blocks.
   * - `uncommitted`: without such a head, since it is of an earlier process, and others follow it already.
   * - `damaged`: as `uncommitted`, and all its bytes stay as they are, since readers may have them.
   */
  endWriting(how: 'committed' | 'uncommitted' | 'damaged'): void {
    this.#isAppendable = false
    this.#isDamaged = how === 'damaged'
    if (how !== 'committed') this.#committedBytes = this.#ended.bytes
  }

  /** The file's final name ends with this height, unless a block in it can be read. Without either, the file is deleted. */
  setFinalHeight(height: bigint): void {
    this.#heightWithoutBlocks = height
  }

  /** What an earlier process has written up to a length is on disk. */
  wasFlushed(bytes: number): void {
    this.#flushedBytes = bytes
  }

  /** Writes again all that is not known to be on disk: if a flush of it has failed, only what is written again is flushed. */
  writeAgain(): void {
    const start = this.#flushedBytes
    copyBytes(this.#file, start, this.#written.bytes, this.#file, start)
  }

  /** Cuts off what follows the events that can be read. */
  cutRest(): void {
    this.#file.truncate(this.#written.bytes)
  }

  // Committing and sealing

  /** Resolves once all that was written, and the file's name, are on disk. After an error it may be called again. */
  async flush(): Promise<void> {
    // After a failed flush the system counts bytes and length as flushed, unless they are written again.
    if (this.#isFlushOpen && !this.#isDamaged) {
      this.writeAgain()
      this.cutRest()
    }
    // Blocks that end meanwhile are flushed by the next call.
    const ended = this.#ended.bytes
    this.#isFlushOpen = true
    await this.#file.flush()
    this.#isFlushOpen = false
    this.#flushedBytes = ended
    if (this.#isNameFlushed) return
    await this.#disk.flushFolder(this.#folder)
    this.#isNameFlushed = true
  }

  /** The head names the bytes up to there. */
  committed(bytes: number): void {
    this.#committedBytes = bytes
  }

  /** Cuts off what follows the last block, unless that is damage, which stays. */
  cutToSeal(): void {
    if (!this.#isDamaged) this.cutOpenBlock()
  }

  /** Gives the file, which has a {@link finalHeight}, its final name, durably. After an error it may be called again. */
  async rename(): Promise<void> {
    const { number, first, finalHeight: last } = this
    if (last === null) throw new Error(`segment ${number} has no block to be named by`)
    const name = segmentName({ kind: this.#kind, number, first, last, isGzipped: false })
    if (this.#disk.stat(this.#path) !== null) this.#disk.rename(this.#path, `${this.#folder}/${name}`)
    await this.#disk.flushFolder(this.#folder)
  }

  remove(): void {
    this.#disk.remove(this.#path)
  }

  close(): void {
    this.#file.close()
  }
}

function pathOf({ folder, number, first }: SegmentPlace): string {
  return `${folder}/${segmentName({ kind: 'open', number, first })}`
}

/** @param fill writes what the file holds from the start: a killed process leaves all of that, or no such file */
function createFile(place: SegmentPlace, fill: (file: LogFile) => void): LogFile {
  const { disk } = place
  const path = pathOf(place)
  const file = disk.create(draftPath(path))
  try {
    fill(file)
    disk.rename(draftPath(path), path)
    return file
  } catch (error) {
    // A full disk: this is done again.
    file.close()
    throw error
  }
}

/** The header of a record: within a log, sequence numbers rise with the segment and the place in it. */
function headerOf(segment: number, index: number, eventBytes: number): Buffer {
  const header = Buffer.allocUnsafe(RECORD_HEADER_BYTES)
  header.writeUInt32BE(eventBytes + 8, 0)
  header.writeUInt32BE(segment, 4)
  header.writeUInt32BE(index, 8)
  return header
}

/** Copies bytes `from[start..end)`, as far as they are there, to an offset. */
function copyBytes(from: LogFile, start: number, end: number, to: LogFile, offset: number): void {
  for (let at = start; at < end; ) {
    const piece = from.read(Math.min(PIECE_BYTES, end - at), at)
    if (piece.length === 0) return
    to.write(piece, offset + at - start)
    at += piece.length
  }
}
