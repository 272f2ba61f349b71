import { createEnvelope, type Envelope, readEnvelope } from '#core/events/bus-event'
import { bytesOf, WireReader } from '#core/events/wire-reader'
import { RECORD_HEADER_BYTES } from '#core/records/record-framer'
import { messageOf } from '#service/live/pair-protocol'

/** A block to be sent: its time in Unix nanoseconds, and its records as in an event file. */
export type SentBlock = { height: number; time: bigint; records: Buffer }

/** Sends a block when it is due; does nothing if sending was aborted. */
export type SendBlock = (block: SentBlock) => Promise<void>

/** The block hash in an event, as in `BusEvent.block`, and its chain id. */
export type BlockIdentity = { hash: Buffer; chainId: string }

const BLOCK_HASH = bytesOf(2)

/** The ranges of the events' bytes. */
function* eventsIn(records: Buffer): Generator<[start: number, end: number], void, undefined> {
  for (let at = 0; at < records.length; ) {
    const end = at + 4 + records.readUInt32BE(at)
    yield [at + RECORD_HEADER_BYTES, end]
    at = end
  }
}

/** The records of an event file as messages. */
export function messagesOf(records: Buffer): Buffer {
  return Buffer.concat(Array.from(eventsIn(records), ([start, end]) => messageOf(records, start, end)))
}

const envelope = createEnvelope()

/** Calls `take` with each event; the envelope is valid until the next event. */
export function readEvents(records: Buffer, take: (event: Envelope) => void): void {
  for (const [start, end] of eventsIn(records)) {
    readEnvelope(records, start, end, envelope)
    take(envelope)
  }
}

/** The identity of a block, from its last event: earlier ones may be outside blocks, or of the genesis block. */
export function identityOf({ records }: SentBlock): BlockIdentity {
  const [start, end] = [...eventsIn(records)].at(-1)!
  readEnvelope(records, start, end, envelope)
  const chainId = records.toString('latin1', envelope.chainIdStart, envelope.chainIdEnd)
  const reader = new WireReader()
  reader.reset(records, start, end)
  let hash = Buffer.alloc(0)
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === BLOCK_HASH) hash = Buffer.from(reader.text(), 'latin1')
    else reader.skip(tag)
  }
  return { hash, chainId }
}
