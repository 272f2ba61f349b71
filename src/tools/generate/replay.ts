import type { Logger } from 'pino'
import { BlockAssembler } from '#core/blocks/block-assembler'
import type { EventPath } from '#core/records/event-paths'
import { readEventFiles } from '#core/records/read-records'
import { RECORD_HEADER_BYTES } from '#core/records/record-framer'
import type { SendBlock } from './sent-blocks.ts'

/**
 * Sends the blocks of event files in their order, each with the records after the end of the previous block.
 *
 * @throws {EventPathError} if a file cannot be read, or none has an event
 * @throws {EventStreamError} for bytes that are not events of one chain
 */
export async function replay(
  files: readonly EventPath[],
  { logger, signal, send }: { logger: Logger; signal: AbortSignal; send: SendBlock },
): Promise<void> {
  let records: Buffer[] = []
  const whole: Parameters<SendBlock>[0][] = []
  const assembler = new BlockAssembler({
    coverage: null,
    onBlock: ({ height, timestamp }) => {
      whole.push({ height: Number(height), time: timestamp, records: Buffer.concat(records) })
      records = []
    },
    onLeftOut: () => {},
    mayMiss: () => true,
    strict: false,
  })
  const read = { bytesRead: 0, cutOff: [], sequenceBreaks: 0 }
  await readEventFiles(files, read, {
    sink: (bytes, start, end, position) => {
      records.push(Buffer.from(bytes.subarray(start - RECORD_HEADER_BYTES, end)))
      assembler.accept(bytes, start, end, position)
    },
    logger,
    signal,
    onChunk: async () => {
      for (const block of whole.splice(0)) await send(block)
    },
  })
}
