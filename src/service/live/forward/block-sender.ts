import { type BeginBlock, decodeBeginBlock } from '#core/events/block-events'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { RECORD_HEADER_BYTES, RecordFramer, type RecordSink } from '#core/records/record-framer'
import type { BufferPosition } from '../event-buffer.ts'
import { messageOf } from '../pair-socket.ts'
import { type BlockRun, isNext } from './block-stretches.ts'
import { ConnectionError, type PairConnection } from './dial-pair.ts'
import type { KeptFiles } from './kept-files.ts'

/** A place in the kept files between two blocks, and the block before it. */
export type SendPosition = BufferPosition & { block: BeginBlock | null }

export const START_POSITION: SendPosition = { file: 0, offset: 0, block: null }

/**
 * A part of the kept files that is to be passed on: where reading begins, the height of its first block, and that of its
 * last one; null: all that follows.
 */
type SendRange = { at: BufferPosition; first: bigint; upTo: bigint | null }

/**
 * Forwards kept blocks in one connection, in consecutive order.
 *
 * @param firstHeight chooses the height to begin with, if nothing has been passed on before
 */
export function createBlockSender(
  connection: PairConnection,
  files: KeptFiles,
  from: SendPosition,
  firstHeight: (runs: readonly BlockRun[]) => bigint,
) {
  /** The last block forwarded, the reading position, and the end of the last block. */
  let sent = from.block
  let reading: BufferPosition = from
  let blockEnd: BufferPosition = from
  let range: SendRange | null =
    from.block === null ? null : { at: from, first: from.block.height, upTo: null }
  let isSending = from.block !== null
  /** Hashes of the parts of block 1 that were sent: each follows the other one, and a core may repeat both. */
  const sentParts = new Set(from.block?.height === 1n ? [from.block.hash] : [])
  const envelope = createEnvelope()
  let isBetween = true
  let messages: Buffer[] = []
  let framer: RecordFramer | null = null
  let framedUpTo: BufferPosition = START_POSITION
  /** The block sent last, when it was last looked for the next one. */
  let triedFor: BeginBlock | null = null

  /**
   * Reads the next part of the files, and sends due blocks. Returns the number of messages sent; null if there is
   * nothing to read yet.
   *
   * @throws {ConnectionError} if the next block is missing or cannot be read.
   */
  async function sendNext(): Promise<number | null> {
    if (range === null) {
      if (triedFor !== null && triedFor === sent) {
        throw new ConnectionError(`the kept events of block ${triedFor.height + 1n} cannot be read`)
      }
      triedFor = sent
      range = nextRange()
      reading = range?.at ?? reading
      isSending = false
    }
    const piece = files.next(reading)
    if (range === null || piece === null) return null
    const { stretch, start, end } = piece
    const { file } = stretch
    if (framer === null || framedUpTo.file !== file || framedUpTo.offset !== start) {
      framer = new RecordFramer(`forward ${file}`, sinkOf(file), start)
    }
    framer.push(await files.read(file, start, end))
    framedUpTo = reading = { file, offset: end }
    const due = messages
    messages = []
    if (due.length > 0) await connection.write(Buffer.concat(due))
    return due.length
  }

  /** Gathers the messages of the blocks that are due. */
  function sinkOf(file: number): RecordSink {
    return (bytes, start, end, position) => {
      readEnvelope(bytes, start, end, envelope)
      if (envelope.kind === EVENT_KIND.beginBlock) {
        beginBlock(decodeBeginBlock(envelope))
      } else if (envelope.kind === EVENT_KIND.endBlock) {
        isBetween = true
        // Block 1 may go on with its other part; if not, the next block ends the range.
        if (isSending && range?.upTo === sent?.height && sent?.height !== 1n) range = null
      }
      if (isBetween) blockEnd = { file, offset: position.offset + end - start + RECORD_HEADER_BYTES }
      if (isSending) messages.push(messageOf(bytes, start, end))
    }
  }

  function beginBlock(block: BeginBlock): void {
    const isRepeated = block.height === 1n && sentParts.has(block.hash)
    const isDue = !isRepeated && (sent === null ? block.height === range?.first : isNext(block, sent))
    isSending = isDue && range !== null && (range.upTo === null || block.height <= range.upTo)
    if (isSending) {
      sent = block
      if (block.height === 1n) sentParts.add(block.hash)
    } else if (sent !== null && block.height > sent.height) range = null
    isBetween = false
  }

  /**
   * Range of the block after the last one sent, as last received; null if no block is kept.
   *
   * @throws {ConnectionError} if it is missing, but later ones are there.
   */
  function nextRange(): SendRange | null {
    const runs = files.stretches.runs()
    const newest = runs.at(-1)
    if (newest === undefined) return null
    const first = sent === null ? firstHeight(runs) : sent.height + 1n
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

  /** Sends an event that belongs to no block. */
  async function sendBetweenBlocks(event: Uint8Array): Promise<void> {
    await connection.write(messageOf(Buffer.from(event), 0, event.length))
  }

  return {
    connection,
    sendBetweenBlocks,
    sent: () => sent,
    reading: () => reading,
    blockEnd: () => blockEnd,
    /** Whether no block is passed on in part. */
    isBetweenBlocks: () => isBetween || !isSending,
    sendNext,
  }
}

export type BlockSender = ReturnType<typeof createBlockSender>
