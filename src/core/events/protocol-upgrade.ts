import { MAX_INT64 } from '../domain/integers.ts'
import { bodyOf, createEnvelope, type Envelope, EVENT_KIND, readEnvelope } from './bus-event.ts'
import { encoded } from './byte-writer.ts'
import { BUS_EVENT_VERSION } from './event-origin.ts'
import { decoderOf, uint64Field } from './message-fields.ts'
import { MalformedMessageError } from './wire-reader.ts'

/*
 * At the height of a network's upgrade the core sends ProtocolUpgradeStarted after the end of the block, and creates no
 * more blocks until its receiver answers with ProtocolUpgradeDataNodeReady for the same height (docs/events.md, live).
 */

/** `BusEventType` of ProtocolUpgradeDataNodeReady. */
const DATA_NODE_READY_TYPE = 55

/** More than an answer takes that names the longest chain id. */
const MAX_ANSWER_BYTES = 4 * 1024

/** Both events have one field, the height of the last block before the upgrade. */
const decodeFields = decoderOf<{ height: bigint }>({}, { height: uint64Field(1) })

/**
 * The height of the last block before the upgrade, from the body of ProtocolUpgradeStarted or ProtocolUpgradeDataNodeReady.
 *
 * @throws {MalformedMessageError} for bytes that are not such a message, and a height of 2^63 or more.
 */
export function decodeUpgradeHeight(envelope: Envelope): bigint {
  const { height } = decodeFields(bodyOf(envelope))
  if (height > MAX_INT64) throw new MalformedMessageError(`an upgrade after block ${height}`)
  return height
}

const answer = createEnvelope()

/**
 * The height in a receiver's answer, ProtocolUpgradeDataNodeReady. Null for any other message, and for another version, at
 * which a waiting core would end.
 */
export function readyHeightIn(message: Buffer): bigint | null {
  try {
    readEnvelope(message, 0, message.length, answer)
    const isAnswer =
      answer.kind === EVENT_KIND.protocolUpgradeDataNodeReady && answer.version === BUS_EVENT_VERSION
    return isAnswer ? decodeUpgradeHeight(answer) : null
  } catch (error) {
    if (error instanceof MalformedMessageError) return null
    throw error
  }
}

/** The answer that the core waits for, as a BusEvent. It says that all blocks up to the height are on disk. */
export function encodeDataNodeReady(chainId: string, height: bigint): Buffer {
  return encoded(
    {
      1: `${height}-1`,
      3: DATA_NODE_READY_TYPE,
      4: BUS_EVENT_VERSION,
      5: Buffer.from(chainId),
      [EVENT_KIND.protocolUpgradeDataNodeReady]: { 1: height },
    },
    MAX_ANSWER_BYTES,
  )
}
