import { bytesOf, LENGTH_DELIMITED, uint, WireReader } from './wire-reader.ts'

/** Field numbers of `BusEvent`'s oneof (docs/events.md, envelope). */
export const EVENT_KIND = {
  marketData: 111,
  marketCreated: 116,
  asset: 117,
  auction: 121,
  liquidityProvision: 124,
  marketUpdated: 125,
  checkpoint: 135,
  beginBlock: 148,
  endBlock: 149,
  protocolUpgradeStarted: 150,
  protocolUpgradeDataNodeReady: 154,
  expiredOrders: 156,
  fundingPeriod: 159,
  fundingPeriodDataPoint: 160,
  cancelledOrders: 187,
} as const

const FIRST_KIND = 101

const ID = bytesOf(1)
const VERSION = uint(4)
const CHAIN_ID = bytesOf(5)

/**
 * The envelope of an event, its body not decoded: offsets in the record's bytes. One object serves all events; its values
 * are valid until the next call of {@link readEnvelope}.
 */
export type Envelope = {
  bytes: Buffer
  idStart: number
  idEnd: number
  version: number
  chainIdStart: number
  chainIdEnd: number
  /** The oneof's field number; 0 if the event has none. */
  kind: number
  bodyStart: number
  bodyEnd: number
}

/** An empty envelope, for {@link readEnvelope} to fill. */
export function createEnvelope(): Envelope {
  return {
    bytes: Buffer.alloc(0),
    idStart: 0,
    idEnd: 0,
    version: 0,
    chainIdStart: 0,
    chainIdEnd: 0,
    kind: 0,
    bodyStart: 0,
    bodyEnd: 0,
  }
}

const reader = new WireReader()

/**
 * Reads the envelope of the event `bytes[start..end)` into `envelope`.
 *
 * @throws {MalformedMessageError} if the bytes are not a protobuf message.
 */
export function readEnvelope(bytes: Buffer, start: number, end: number, envelope: Envelope): void {
  envelope.bytes = bytes
  envelope.idStart = envelope.idEnd = start
  envelope.chainIdStart = envelope.chainIdEnd = start
  envelope.version = 0
  envelope.kind = 0
  envelope.bodyStart = envelope.bodyEnd = start
  reader.reset(bytes, start, end)
  while (reader.at < end) {
    const tag = reader.tag()
    if ((tag & 7) === LENGTH_DELIMITED) {
      const valueEnd = reader.fieldEnd()
      const valueStart = reader.at
      if (tag === ID) {
        envelope.idStart = valueStart
        envelope.idEnd = valueEnd
      } else if (tag === CHAIN_ID) {
        envelope.chainIdStart = valueStart
        envelope.chainIdEnd = valueEnd
      } else if (tag >>> 3 >= FIRST_KIND) {
        envelope.kind = tag >>> 3
        envelope.bodyStart = valueStart
        envelope.bodyEnd = valueEnd
      }
      reader.at = valueEnd
    } else if (tag === VERSION) {
      envelope.version = reader.uint32()
    } else {
      reader.skip(tag)
    }
  }
}

const body = new WireReader()

/** Points the reader at the body of an event. The reader is shared: its values are valid until the next body is read. */
export function bodyOf({ bytes, bodyStart, bodyEnd }: Envelope): WireReader {
  body.reset(bytes, bodyStart, bodyEnd)
  return body
}
