import { decodeBeginBlock } from '../src/events/block-events.ts'
import { createEnvelope, EVENT_KIND, readEnvelope } from '../src/events/bus-event.ts'
import type { MarketEvent } from '../src/events/event.ts'
import { RecordFramer } from '../src/records/record-framer.ts'
import { decodeEvent } from '../src/resources/arrivals.ts'

/** An event that is kept, with the time of its block in Unix nanoseconds. */
export type DecodedEvent = { blockTime: bigint; event: MarketEvent }

/** Decodes the events of a record stream that are kept, in its order; fails on one that is left out. */
export async function* decodedEvents(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<DecodedEvent, void, undefined> {
  const envelope = createEnvelope()
  let decoded: DecodedEvent[] = []
  let blockTime = 0n
  const framer = new RecordFramer('test', (bytes, start, end) => {
    readEnvelope(bytes, start, end, envelope)
    if (envelope.kind === EVENT_KIND.beginBlock) blockTime = decodeBeginBlock(envelope).timestamp
    const event = decodeEvent(envelope, (reason) => {
      throw new Error(`left out: ${reason}`)
    })
    if (event !== null) decoded.push({ blockTime, event })
  })
  for await (const chunk of chunks) {
    framer.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
    yield* decoded
    decoded = []
  }
  if (framer.end() !== null || framer.sequenceBreaks > 0) throw new Error('the stream is not whole')
}
