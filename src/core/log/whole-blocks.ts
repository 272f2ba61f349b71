import { RECORD_HEADER_BYTES, RecordFramer } from '../records/record-framer.ts'
import { isDamage } from '../records/record-position.ts'
import { EventCheck, RefusedEventError } from './event-check.ts'
import type { LogReader, LogSegment } from './log-reader.ts'

/** A block with all its events; block 1 in each of its two parts. */
export type WholeBlock = {
  height: bigint
  /** Unix nanoseconds. */
  timestamp: bigint
  /** Tells the parts of block 1 apart. */
  hash: string
  /** Its events, as the core sent them. */
  events: Buffer[]
  /** Its end: the segment that it was read from, and the offset there. */
  place: { segment: LogSegment; offset: number }
}

/** Where reading has come to: the bytes of a segment before `offset` are in `framer`; it began because of a height. */
type Place = { segment: LogSegment; begunFor: bigint; offset: number; framer: RecordFramer }

/** Reads whole blocks of event logs by height, one after the other. */
export class WholeBlocks {
  readonly #reader: LogReader
  #place: Place | null = null
  /** The blocks that have been read and not been asked for, and the events of the one that is being read. */
  #read: WholeBlock[] = []
  #events: Buffer[] = []
  /** The height of the block that is being read. */
  #height: bigint | null = null

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /**
   * The block of a height, or the other part of block 1 after one with `after` as its hash. Null if no log has it, whole, or
   * not yet.
   */
  async next(height: bigint, after: string | null = null): Promise<WholeBlock | null> {
    for (;;) {
      const block = this.#read[0]
      if (block === undefined) {
        if (!(await this.#readOn(height))) return null
      } else if (block.height === height && block.hash !== after) {
        return this.#read.shift()!
      } else if (block.height <= height) {
        this.#read.shift()
      } else if (after !== null) {
        return null
      } else {
        this.#goBack(height, block.height)
      }
    }
  }

  /** A block before those that have been read is asked for: it is read from the beginning of its segment. */
  #goBack(height: bigint, read: bigint): void {
    const { segment, begunFor } = this.#place!
    if (begunFor === height) {
      const reason = `${segment.name} has no block ${height}`
      this.#reader.cannotRead(segment, { from: height, to: read - 1n, reason })
    }
    this.#place = null
    this.#read = []
  }

  /** Reads more of the segment that has a height; false if there is nothing more of it. */
  async #readOn(height: bigint): Promise<boolean> {
    const found = this.#reader.find(height, { wantsWhole: true })
    const isOther =
      found !== null &&
      (this.#place === null ||
        this.#place.segment.log !== found.log ||
        this.#place.segment.number !== found.number)
    if (isOther) this.#begin(found, height)
    const place = this.#place
    if (place === null) return false
    const { segment } = place
    try {
      const piece = await this.#reader.read(segment, place.offset)
      place.offset = piece.end
      place.framer.push(piece.bytes)
      return piece.bytes.length > 0
    } catch (error) {
      if (!isDamage(error) && !(error instanceof RefusedEventError)) throw error
      const from = this.#height ?? height
      this.#reader.cannotRead(segment, { from, to: null, reason: error.message })
      this.#place = null
      return this.#reader.find(height, { wantsWhole: true }) !== null
    }
  }

  #begin(segment: LogSegment, height: bigint): void {
    const check = new EventCheck(null)
    this.#read = []
    this.#events = []
    const framer = new RecordFramer(`${segment.log.name}/${segment.name}`, (record, start, end, position) => {
      // Each event may be of another connection.
      check.connected()
      const { role, block } = check.check(record, start, end)
      if (role === 'outside') return
      if (role === 'begin') {
        this.#events = []
        this.#height = block!.height
      }
      this.#events.push(Buffer.from(record.subarray(start, end)))
      if (role !== 'end') return
      const { height, timestamp, hash, isWhole } = block!
      this.#height = height + 1n
      const place = { segment, offset: position.offset + RECORD_HEADER_BYTES + end - start }
      if (isWhole) this.#read.push({ height, timestamp, hash, events: this.#events, place })
    })
    this.#place = { segment, begunFor: height, offset: 0, framer }
  }
}
