import { type BeginBlock, decodeBeginBlock } from '#core/events/block-events'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { RECORD_HEADER_BYTES, RecordFramer, type RecordSink } from '#core/records/record-framer'
import { messageOf } from '../pair-socket.ts'
import { type BlockRun, isNext } from './block-stretches.ts'
import { ConnectionError, type PairConnection } from './dial-pair.ts'
import type { FilePosition, KeptFiles } from './kept-files.ts'

/** A place in the kept files between two blocks, and the block before it. */
export type SendPosition = FilePosition & { block: BeginBlock | null }

export const START_POSITION: SendPosition = { file: 0, offset: 0, block: null }

/**
 * A part of the kept files that is to be passed on: where reading begins, the height of its first block, and that of its
 * last one; null: all that follows.
 */
type SendRange = { at: FilePosition; first: bigint; upTo: bigint | null }

/** Forwards kept blocks in one connection, in consecutive order. */
export class BlockSender {
  readonly connection: PairConnection
  /** The last block forwarded, the reading position, and the end of the last block. */
  sent: BeginBlock | null
  reading: FilePosition
  blockEnd: FilePosition
  readonly #files: KeptFiles
  readonly #firstHeight: (runs: readonly BlockRun[]) => bigint
  readonly #envelope = createEnvelope()
  #range: SendRange | null
  #isSending: boolean
  #isBetween = true
  #messages: Buffer[] = []
  #framer: RecordFramer | null = null
  #framedUpTo: FilePosition = START_POSITION
  /** The block sent last, when it was last looked for the next one. */
  #triedFor: BeginBlock | null = null

  /** @param firstHeight chooses the height to begin with, if nothing has been passed on before */
  constructor(
    connection: PairConnection,
    files: KeptFiles,
    from: SendPosition,
    firstHeight: (runs: readonly BlockRun[]) => bigint,
  ) {
    this.connection = connection
    this.#files = files
    this.#firstHeight = firstHeight
    this.sent = from.block
    this.reading = this.blockEnd = from
    this.#range = from.block === null ? null : { at: from, first: from.block.height, upTo: null }
    this.#isSending = from.block !== null
  }

  /** Whether no block is passed on in part. */
  get isBetweenBlocks(): boolean {
    return this.#isBetween || !this.#isSending
  }

  /**
   * Reads the next part of the files, and sends due blocks. Returns the number of messages sent; null if there is
   * nothing to read yet.
   *
   * @throws {ConnectionError} if the next block is missing or cannot be read.
   */
  async sendNext(): Promise<number | null> {
    if (this.#range === null) {
      if (this.#triedFor !== null && this.#triedFor === this.sent) {
        throw new ConnectionError(`the kept events of block ${this.#triedFor.height + 1n} cannot be read`)
      }
      this.#triedFor = this.sent
      this.#range = this.#nextRange()
      this.reading = this.#range?.at ?? this.reading
      this.#isSending = false
    }
    const piece = this.#files.next(this.reading)
    if (this.#range === null || piece === null) return null
    const { stretch, start, end } = piece
    const { file } = stretch
    if (this.#framer === null || this.#framedUpTo.file !== file || this.#framedUpTo.offset !== start) {
      this.#framer = new RecordFramer(`forward ${file}`, this.#sinkOf(file), start)
    }
    this.#framer.push(await this.#files.read(file, start, end))
    this.#framedUpTo = this.reading = { file, offset: end }
    const messages = this.#messages
    this.#messages = []
    if (messages.length > 0) await this.connection.write(Buffer.concat(messages))
    return messages.length
  }

  /** Gathers the messages of the blocks that are due. */
  #sinkOf(file: number): RecordSink {
    const envelope = this.#envelope
    return (bytes, start, end, position) => {
      readEnvelope(bytes, start, end, envelope)
      if (envelope.kind === EVENT_KIND.beginBlock) {
        this.#beginBlock(decodeBeginBlock(envelope))
      } else if (envelope.kind === EVENT_KIND.endBlock) {
        this.#isBetween = true
        if (this.#isSending && this.#range?.upTo === this.sent?.height) this.#range = null
      }
      if (this.#isBetween)
        this.blockEnd = { file, offset: position.offset + end - start + RECORD_HEADER_BYTES }
      if (this.#isSending) this.#messages.push(messageOf(bytes, start, end))
    }
  }

  #beginBlock(block: BeginBlock): void {
    const { sent } = this
    const range = this.#range
    const isDue = sent === null ? block.height === range?.first : isNext(block, sent)
    this.#isSending = isDue && range !== null && (range.upTo === null || block.height <= range.upTo)
    if (this.#isSending) this.sent = block
    else if (sent !== null && block.height > sent.height) this.#range = null
    this.#isBetween = false
  }

  /**
   * Range of the block after the last one sent, as last received; null if no block is kept.
   *
   * @throws {ConnectionError} if it is missing, but later ones are there.
   */
  #nextRange(): SendRange | null {
    const runs = this.#files.stretches.runs()
    const newest = runs.at(-1)
    if (newest === undefined) return null
    const first = this.sent === null ? this.#firstHeight(runs) : this.sent.height + 1n
    const run = runs.findLast(({ from, to }) => from <= first && first <= to)
    if (run === undefined) {
      if (runs.some(({ from }) => from > first)) {
        throw new ConnectionError(`block ${first} is missing; the next connection begins after it`)
      }
      const { file, end } = newest.stretches.at(-1)!
      return { at: { file, offset: end }, first, upTo: null }
    }
    const { file, start } = run.stretches.find(({ last }) => last.height >= first)!
    let upTo = run === newest ? null : run.to
    for (const { from } of runs.slice(runs.indexOf(run) + 1)) {
      if (from > first && from - 1n < upTo!) upTo = from - 1n
    }
    return { at: { file, offset: start }, first, upTo }
  }
}
