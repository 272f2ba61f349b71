import { RecordFramer, type RecordSink } from '../records/record-framer.ts'
import { EventStreamError } from '../records/record-position.ts'

/** A segment of this size is followed by another one, at the next block. */
export const SEGMENT_BYTES = 64 * 1024 * 1024

/** Bytes that are read at a time. */
export const PIECE_BYTES = 1024 * 1024

/** What follows the bytes that were read: more at once, perhaps more later, or nothing. */
export type Following = 'more' | 'later' | 'nothing'

/** What is wrong with the bytes of a segment, or that there are too many; {@link SegmentFrames} knows where. */
export class DamagedBytesError extends Error {
  override name = 'DamagedBytesError'
}

/** The next bytes of a segment. */
export type SegmentPiece = { bytes: Buffer; following: Following }

/**
 * Reads a segment from its beginning on, and cuts its bytes into frames: the records of event files, each with an event. The writer
 * and all readers by height use this, so that they find the same frames, and the same damage.
 */
export class SegmentFrames {
  readonly #framer: RecordFramer
  readonly #readPiece: (offset: number) => Promise<SegmentPiece>
  #offset = 0
  /** Read, but not cut into frames. */
  #piece: SegmentPiece = { bytes: Buffer.alloc(0), following: 'more' }

  /**
   * @param source names the segment in errors
   * @param readPiece reads bytes from an offset on
   * @param sink receives each frame, with its offset
   */
  constructor(source: string, readPiece: (offset: number) => Promise<SegmentPiece>, sink: RecordSink) {
    this.#framer = new RecordFramer(source, sink)
    this.#readPiece = readPiece
  }

  /** Everything before it was read. */
  get offset(): number {
    return this.#offset
  }

  /** Bytes that were handed on after the last whole frame: the beginning of the next one. */
  get cutBytes(): number {
    return this.#framer.end()?.bytes ?? 0
  }

  /**
   * Reads the next bytes, for {@link handOn}.
   *
   * @throws {EventStreamError} for damage because of which there are no next bytes.
   * @throws the disk's error if they cannot be read.
   */
  async read(): Promise<SegmentPiece> {
    const piece = await this.#readPiece(this.#offset).catch((error: unknown) => {
      throw error instanceof DamagedBytesError ? this.#damage(error.message, { cause: error }) : error
    })
    this.#offset += piece.bytes.length
    this.#piece = piece
    return piece
  }

  /**
   * Hands on each frame that the bytes read complete; returns what follows them.
   *
   * @throws {EventStreamError} for damage: bytes that are no frame, and a segment that ends within one. Earlier frames have been
   *   handed on, and nothing more may be read. Errors of the sink are thrown, too.
   */
  handOn(): Following {
    const { bytes, following } = this.#piece
    this.#framer.push(bytes)
    const cut = following === 'nothing' ? this.#framer.end() : null
    if (cut === null) return following
    throw this.#damage('the segment ends within a record: it is damaged here')
  }

  /** Reads the next bytes and hands on their frames, as {@link read} and {@link handOn}. */
  async readOn(): Promise<Following> {
    await this.read()
    return this.handOn()
  }

  /** Reads all bytes that are there and hands on their frames, as {@link read} and {@link handOn}. */
  async readAll(): Promise<void> {
    let following: Following = 'more'
    while (following === 'more') following = await this.readOn()
  }

  /** Damage after the last whole frame. */
  #damage(what: string, options?: ErrorOptions): EventStreamError {
    const { position, offset } = this.#framer
    return new EventStreamError(what, { ...position, record: position.record + 1, offset }, options)
  }
}
