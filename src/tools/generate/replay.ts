import { decodeBeginBlock } from '#core/events/block-events'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { MalformedMessageError } from '#core/events/wire-reader'
import { readEventFile } from '#core/records/event-file'
import { explainPathError } from '#core/records/event-paths'
import { RECORD_HEADER_BYTES, RecordFramer } from '#core/records/record-framer'
import { EventStreamError } from '#core/records/record-position'
import type { SentBlock } from './send-to.ts'

/**
 * The blocks of an event file, in its order; records before the first one belong to it.
 *
 * @throws {EventPathError} if the file cannot be read
 * @throws {EventStreamError} for bytes that are not events
 */
export async function* recordedBlocks(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<SentBlock, void, undefined> {
  const envelope = createEnvelope()
  const whole: SentBlock[] = []
  let records: Buffer[] = []
  let head: Omit<SentBlock, 'records'> | null = null
  const endBlock = () => {
    if (head === null) return
    whole.push({ ...head, records: Buffer.concat(records) })
    records = []
  }
  const framer = new RecordFramer(path, (bytes, start, end) => {
    readEnvelope(bytes, start, end, envelope)
    if (envelope.kind === EVENT_KIND.beginBlock) {
      endBlock()
      const { height, timestamp } = decodeBeginBlock(envelope)
      head = { height: Number(height), time: timestamp }
    }
    records.push(Buffer.from(bytes.subarray(start - RECORD_HEADER_BYTES, end)))
  })
  try {
    for await (const chunk of readEventFile(path, { bytesRead: 0 }, signal)) {
      framer.push(chunk)
      yield* whole.splice(0)
    }
  } catch (error) {
    if (error instanceof MalformedMessageError) throw new EventStreamError(error.message, framer.position)
    throw explainPathError(path, error)
  }
  endBlock()
  yield* whole
}
