import { decodeBeginBlock } from '../../events/block-events.ts'
import { createEnvelope, EVENT_KIND, readEnvelope } from '../../events/bus-event.ts'
import { RecordFramer } from '../../records/record-framer.ts'
import type { BufferPosition, EventBuffer } from './event-buffer.ts'

const PIECE_BYTES = 1024 * 1024

/**
 * Looks for the beginning of a block after a place in the buffer, in what is there and in what comes: a core
 * that restarts sends blocks again. Null where the signal is aborted first.
 */
export async function findBlock(
  buffer: EventBuffer,
  after: BufferPosition,
  height: bigint,
  signal: AbortSignal,
): Promise<BufferPosition | null> {
  const envelope = createEnvelope()
  let found: BufferPosition | null = null
  let position: BufferPosition = { file: after.file, offset: 0 }
  let framer: RecordFramer | null = null
  while (found === null) {
    const piece = await buffer.read(position, PIECE_BYTES, signal)
    if (piece === null) return null
    const { file } = piece
    framer ??= new RecordFramer(piece.path, (bytes, start, end, { offset }) => {
      if (found !== null || (file === after.file && offset <= after.offset)) return
      readEnvelope(bytes, start, end, envelope)
      if (envelope.kind !== EVENT_KIND.beginBlock || decodeBeginBlock(envelope).height !== height) return
      found = { file, offset }
    })
    framer.push(piece.bytes)
    position = piece.next
    if (piece.lastOfFile) framer = null
  }
  return found
}
