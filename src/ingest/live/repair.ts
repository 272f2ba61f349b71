import { createReadStream } from 'node:fs'
import { truncate } from 'node:fs/promises'
import { createEnvelope, readEnvelope } from '../../events/bus-event.ts'
import { MalformedMessageError } from '../../events/wire-reader.ts'
import { RECORD_HEADER_BYTES, RecordFramer } from '../../records/record-framer.ts'
import { EventStreamError } from '../../records/record-position.ts'

/**
 * Cuts a buffer file after its last whole event. After a loss of power the bytes after the last flush may be
 * cut off, zero or anything; all that an end of block covered stands before them. Returns the bytes cut off.
 */
export async function repairBufferFile(path: string): Promise<number> {
  const envelope = createEnvelope()
  let goodBytes = 0
  let bytes = 0
  const framer = new RecordFramer(path, (record, start, end, position) => {
    readEnvelope(record, start, end, envelope)
    goodBytes = position.offset + end - start + RECORD_HEADER_BYTES
  })
  for await (const chunk of createReadStream(path)) {
    bytes += (chunk as Buffer).length
    try {
      framer.push(chunk as Buffer)
    } catch (error) {
      if (!(error instanceof EventStreamError || error instanceof MalformedMessageError)) throw error
      await truncate(path, goodBytes)
      return bytes - goodBytes
    }
  }
  if (goodBytes < bytes) await truncate(path, goodBytes)
  return bytes - goodBytes
}
