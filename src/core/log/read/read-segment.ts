import { CompressionError, gunzip } from '../../records/gunzip.ts'
import type { RecordSink } from '../../records/record-framer.ts'
import { MAX_BLOCK_BYTES } from '../event-check.ts'
import {
  DamagedBytesError,
  PIECE_BYTES,
  SEGMENT_BYTES,
  SegmentFrames,
  type SegmentPiece,
} from '../segment-frames.ts'
import type { LogSegment } from './followed-log.ts'
import { LogUnreachableError } from './log-source.ts'

/** A writer ends a segment before it gets larger than this; only block 1 may be larger, with a genesis beyond any real one. */
const MAX_SEGMENT_BYTES = SEGMENT_BYTES + MAX_BLOCK_BYTES

/** The frames of a segment of a log, as far as it is committed. */
export function framesOf(segment: LogSegment, sink: RecordSink): SegmentFrames {
  const bytes = new SegmentBytes(segment)
  return new SegmentFrames(segment.name, (offset) => bytes.read(offset), sink)
}

/** The bytes of a segment, whatever its file is called now: sealed, gzipped or, once nobody needs it, gone. */
class SegmentBytes {
  readonly #segment: LogSegment
  #inflating: InflatedSegment | null = null

  constructor(segment: LogSegment) {
    this.#segment = segment
  }

  /**
   * Reads the next piece.
   *
   * @throws {DamagedBytesError} for damage.
   * @throws {LogUnreachableError} if the file of the segment that is being written is shorter than the log's head says.
   * @throws what `FollowedLog.read` (followed-log.ts) throws.
   */
  async read(offset: number): Promise<SegmentPiece> {
    const { log } = this.#segment
    const segment = log.current(this.#segment) ?? this.#segment
    if (offset >= MAX_SEGMENT_BYTES)
      throw new DamagedBytesError(`it is larger than a segment, ${MAX_SEGMENT_BYTES / 1024 / 1024} MiB`)
    try {
      return await this.#readPiece(segment, offset)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      await log.listAgain(segment)
      const renamed = log.current(segment)
      if (renamed === null || renamed.name === segment.name) throw error
      return this.read(offset)
    }
  }

  async #readPiece(segment: LogSegment, offset: number): Promise<SegmentPiece> {
    if (segment.name.endsWith('.gz')) return this.#inflatePiece(segment, offset)
    const length = Math.min(PIECE_BYTES, segment.bytes - offset)
    const bytes = length > 0 ? await segment.log.read(segment, offset, length) : Buffer.alloc(0)
    if (length > 0 && bytes.length === 0 && segment.kind === 'active')
      throw new LogUnreachableError(`${segment.name} is shorter than head.json says`)
    const isAtEnd = offset + bytes.length >= segment.bytes || bytes.length === 0
    return { bytes, following: !isAtEnd ? 'more' : segment.kind === 'active' ? 'later' : 'nothing' }
  }

  async #inflatePiece(segment: LogSegment, offset: number): Promise<SegmentPiece> {
    const isGoingOn = this.#inflating?.segment.name === segment.name && this.#inflating.offset <= offset
    const inflating = isGoingOn ? this.#inflating! : new InflatedSegment(segment)
    // After an error it cannot go on.
    this.#inflating = null
    while (inflating.offset < offset) await inflating.take(Math.min(PIECE_BYTES, offset - inflating.offset))
    const bytes = await inflating.take(PIECE_BYTES)
    this.#inflating = inflating
    return { bytes, following: bytes.length < PIECE_BYTES ? 'nothing' : 'more' }
  }
}

/** A gzipped segment, inflated as far as it is read. */
class InflatedSegment {
  readonly segment: LogSegment
  /** Everything before it was taken. */
  offset = 0
  readonly #chunks: AsyncGenerator<Buffer, boolean, undefined>
  /** Inflated, and not taken yet. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(segment: LogSegment) {
    this.segment = segment
    this.#chunks = gunzip(packedBytes(segment))
  }

  /**
   * Takes the next bytes; fewer at the end. After an error nothing more may be taken.
   *
   * @throws {DamagedBytesError} for damage, and behind the end.
   */
  async take(most: number): Promise<Buffer> {
    const chunks = [this.#rest]
    for (let bytes = this.#rest.length; bytes < most; ) {
      const chunk = await this.#next()
      if (chunk === null) break
      chunks.push(chunk)
      bytes += chunk.length
    }
    const inflated = Buffer.concat(chunks)
    const piece = inflated.subarray(0, most)
    this.#rest = inflated.subarray(most)
    this.offset += piece.length
    return piece
  }

  /** The next bytes; null at the end. */
  async #next(): Promise<Buffer | null> {
    try {
      const { value, done } = await this.#chunks.next()
      if (done !== true) return value
      if (value === true) return null
      throw new CompressionError('it ends too early')
    } catch (error) {
      if (!(error instanceof CompressionError)) throw error
      throw new DamagedBytesError(`it cannot be inflated: ${error.message}`, { cause: error })
    }
  }
}

async function* packedBytes(segment: LogSegment): AsyncGenerator<Buffer, void, undefined> {
  for (let offset = 0; offset < segment.bytes; ) {
    const bytes = await segment.log.read(segment, offset, Math.min(PIECE_BYTES, segment.bytes - offset))
    if (bytes.length === 0) return
    yield bytes
    offset += bytes.length
  }
}
